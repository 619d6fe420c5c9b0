/** The two requests under a watch: a list in pages, and one stream of changes. */

import type { KubernetesObject } from '@kubernetes/client-node';
import type { Response } from 'undici';
import { type Kube, openRequest } from './connection.ts';
import { answerError, mayBeAbsent } from './errors.ts';
import { PageReader } from './pages.ts';
import { continueOf } from './requests.ts';

export interface Selection<T> {
  readonly kube: Kube;
  readonly path: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** Reduces an object to what is kept; called before the next page is requested, so that a long list is never in memory whole. */
  readonly trim?: (object: T) => T;
  readonly signal: AbortSignal;
}

/** The server no longer has our resource version, or the resource changed: list again. */
export class Expired extends Error {}

/** A stream that ended and can be resumed at `position`. Without a cause it was only silent. */
export class Interrupted extends Error {
  readonly position: string;
  constructor(position: string, cause?: unknown) {
    super('interrupted', { cause });
    this.position = position;
  }
}

const callMs = 10_000;
/** Bookmarks arrive about once a minute: a stream that is silent for longer counts as dead and is reopened. */
const idleMs = 75_000;

const selectors = ({ labelSelector, fieldSelector }: Pick<Selection<never>, 'labelSelector' | 'fieldSelector'>) => ({
  labelSelector,
  fieldSelector,
});

/** All pages of one list, or undefined when the resource does not exist. */
export async function listAll<T extends KubernetesObject>(
  selection: Selection<T>,
): Promise<{ items: T[]; position: string } | undefined> {
  const items: T[] = [];
  const { trim = (object) => object } = selection;
  const pages = new PageReader();
  let next: string | undefined;
  for (;;) {
    const page = await pages.read<T>((limit) => openPage(selection, { limit, continue: next }));
    if (!page) return undefined;
    const { apiVersion } = page;
    const kind = page.kind?.replace(/List$/, '');
    // Items of a list lack kind and apiVersion.
    for (const item of page.items)
      items.push(trim({ ...(apiVersion && { apiVersion }), ...(kind && { kind }), ...item }));
    next = continueOf(page);
    if (!next) return { items, position: page.metadata?.resourceVersion ?? '' };
  }
}

/** Undefined when the resource does not exist. */
async function openPage<T extends KubernetesObject>(
  selection: Selection<T>,
  page: { readonly limit: string; readonly continue: string | undefined },
): Promise<Response | undefined> {
  const signal = AbortSignal.any([selection.signal, AbortSignal.timeout(callMs)]);
  const query = { ...selectors(selection), ...page };
  const response = await openRequest(selection.kube, { method: 'GET', path: selection.path, query, signal });
  if (response.ok) return response;
  const body = await response.text();
  if (response.status === 404 && mayBeAbsent(selection.path)) return undefined;
  if (response.status === 410) throw new Expired();
  throw answerError(response.status, body, response.headers.get('retry-after') ?? undefined, `list ${selection.path}`);
}

interface WatchLine<T> {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  readonly object: T & { readonly code?: number };
}

export interface StreamListener<T> {
  readonly opened: () => void;
  readonly changed: (object: T) => void;
  readonly deleted: (object: T) => void;
}

/** Follows one stream until the server ends it, and returns its last position. Throws Expired, Interrupted, or the signal's reason. */
export async function followStream<T extends KubernetesObject>(
  selection: Selection<T>,
  from: string,
  listener: StreamListener<T>,
): Promise<string> {
  const stop = new AbortController();
  const quiet = deadline(() => stop.abort());
  let position = from;
  let opened = false;
  try {
    quiet.within(callMs);
    const lifetime = 240 + Math.floor(Math.random() * 60);
    const query = {
      ...selectors(selection),
      watch: '1',
      allowWatchBookmarks: 'true',
      resourceVersion: from,
      timeoutSeconds: String(lifetime),
    };
    const response = await openRequest(selection.kube, {
      method: 'GET',
      path: selection.path,
      query,
      signal: AbortSignal.any([selection.signal, stop.signal]),
    });
    if (!response.ok || !response.body) throw refusal(response.status, await response.text(), selection.path);
    opened = true;
    listener.opened();
    quiet.within(idleMs);
    for await (const line of lines(response.body, () => quiet.within(idleMs))) {
      const { type, object } = JSON.parse(line) as WatchLine<T>;
      if (type === 'ERROR') throw refusal(object.code ?? 500, object, selection.path);
      if (type === 'DELETED') listener.deleted(object);
      else if (type !== 'BOOKMARK') listener.changed(selection.trim ? selection.trim(object) : object);
      position = object.metadata?.resourceVersion ?? position;
    }
    return position;
  } catch (error) {
    if (error instanceof Expired || selection.signal.aborted) throw error;
    if (stop.signal.aborted)
      throw new Interrupted(position, opened ? undefined : new DOMException('no answer in time', 'TimeoutError'));
    throw new Interrupted(position, error);
  } finally {
    quiet.clear();
    stop.abort();
  }
}

/** 404: the resource itself was removed (its CRD was deleted); the next list shows that. */
const refusal = (status: number, body: unknown, path: string): Error =>
  status === 410 || status === 404 ? new Expired() : answerError(status, body, undefined, `watch ${path}`);

function deadline(passed: () => void): { within(ms: number): void; clear(): void } {
  let handle: NodeJS.Timeout | undefined;
  const clear = () => clearTimeout(handle);
  const within = (ms: number) => {
    clear();
    handle = setTimeout(passed, ms);
    handle.unref();
  };
  return { within, clear };
}

async function* lines(body: AsyncIterable<Uint8Array>, onBytes: () => void): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of body) {
    onBytes();
    const parts = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = parts.pop() ?? '';
    for (const part of parts) if (part.trim() !== '') yield part;
  }
}
