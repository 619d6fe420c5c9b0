/** Requests that read and write plain JSON: the typed client converts every field of every pod, which takes seconds for thousands. */

import type { KubernetesListObject, KubernetesObject } from '@kubernetes/client-node';
import type { Response } from 'undici';
import { type Kube, openRequest, type OpenRequest } from './connection.ts';
import { KcoverError } from '../../contract/errors.ts';
import { answerError, isNotFound, kubeError, mayBeAbsent } from './errors.ts';
import { PageReader } from './pages.ts';

/** Field manager of activities; differs from that of a person's tool, so that field times stay separate. */
export const fieldManager = 'kcover-worker';

/** Sends a request; throws errors of the catalogue. `doing` completes "cannot ...". Times in the answer are text, whatever their type says. */
export async function askKube<T>(kube: Kube, request: OpenRequest, doing: string): Promise<T> {
  try {
    const response = await openAnswer(kube, request, doing);
    return (await response.json()) as T;
  } catch (error) {
    throw kubeError(error, doing);
  }
}

/** An answer without an error. */
async function openAnswer(kube: Kube, request: OpenRequest, doing: string): Promise<Response> {
  const response = await openRequest(kube, request);
  if (response.ok) return response;
  const body = await response.text();
  if (response.status === 404 && mayBeAbsent(request.path) && body.trim() === '404 page not found')
    throw new KcoverError('not-found', doing);
  throw answerError(response.status, body, response.headers.get('retry-after') ?? undefined, doing);
}

/** One object, or undefined when it does not exist. */
export async function readObject<T extends KubernetesObject>(
  kube: Kube,
  path: string,
  doing: string,
): Promise<T | undefined> {
  try {
    return await askKube<T>(kube, { method: 'GET', path }, doing);
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/** Every page of a list. */
export async function listObjects<T extends KubernetesObject>(
  kube: Kube,
  path: string,
  selectors: { labelSelector?: string; fieldSelector?: string },
  doing: string,
): Promise<T[]> {
  const items: T[] = [];
  for await (const page of pagesOf<T>(kube, path, selectors, doing)) items.push(...page);
  return items;
}

/** A list page by page, for callers that keep little of each object. */
export async function* pagesOf<T extends KubernetesObject>(
  kube: Kube,
  path: string,
  selectors: { labelSelector?: string; fieldSelector?: string },
  doing: string,
): AsyncGenerator<readonly T[]> {
  const pages = new PageReader();
  let next: string | undefined;
  do {
    const open = (limit: string) =>
      openAnswer(kube, { method: 'GET', path, query: { ...selectors, limit, continue: next } }, doing);
    const page = await pages.read<T>(open).catch((error: unknown) => {
      throw kubeError(error, doing);
    });
    yield page?.items ?? [];
    next = page && continueOf(page);
  } while (next);
}

/** The token of the next page, under its name on the wire. */
export function continueOf(page: KubernetesListObject<KubernetesObject>): string | undefined {
  const metadata: object = page.metadata ?? {};
  return 'continue' in metadata && typeof metadata.continue === 'string' && metadata.continue !== ''
    ? metadata.continue
    : undefined;
}

/** A merge patch; `metadata.resourceVersion` and `metadata.uid` in it are preconditions: another version is a conflict, another UID is invalid. */
export const patchObject = <T extends KubernetesObject>(
  kube: Kube,
  path: string,
  patch: object,
  doing: string,
  manager = fieldManager,
): Promise<T> =>
  askKube<T>(
    kube,
    {
      method: 'PATCH',
      path,
      query: { fieldManager: manager },
      body: { contentType: 'application/merge-patch+json', text: JSON.stringify(patch) },
    },
    doing,
  );
