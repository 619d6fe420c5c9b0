/** Creates the object of a hook under a fixed name, so that a repeated request finds the first one. */

import type { KubernetesObject } from '@kubernetes/client-node';
import { KcoverError } from '../../contract/errors.ts';
import { hookMarks } from '../../contract/ids.ts';
import type { Kube } from '../client/connection.ts';
import { isConflict } from '../client/errors.ts';
import { objectPath } from '../client/request-url.ts';
import { askKube, fieldManager, readObject } from '../client/requests.ts';

/** `foreign`: an object of this name is there that this operation did not make. */
export type Found = { readonly uid: string } | 'absent' | 'foreign';

/** Looks for the object of an operation. Throws `KcoverError`. */
export async function findHookObject(kube: Kube, collection: string, operation: string): Promise<Found> {
  const object = await readObject(kube, objectPath(collection, operation), `read ${collection}/${operation}`);
  if (!object) return 'absent';
  return object.metadata?.labels?.[hookMarks.operation] === operation ? { uid: object.metadata.uid ?? '' } : 'foreign';
}

/** Creates the object, or finds the one that an earlier request of the same operation created. Throws `KcoverError`. */
export async function createHookObject(
  kube: Kube,
  collection: string,
  object: KubernetesObject,
): Promise<Exclude<Found, 'absent'>> {
  const doing = `create ${object.kind} ${object.metadata?.name}`;
  try {
    const created = await askKube<KubernetesObject>(
      kube,
      {
        method: 'POST',
        path: collection,
        query: { fieldManager, fieldValidation: 'Strict' },
        body: { contentType: 'application/json', text: JSON.stringify(object) },
      },
      doing,
    );
    return { uid: created.metadata?.uid ?? '' };
  } catch (error) {
    if (!isConflict(error)) throw error;
  }
  const found = await findHookObject(kube, collection, object.metadata?.name ?? '');
  if (found === 'absent') throw new KcoverError('kube.conflict', `${doing}: another one was there and is gone`);
  return found;
}

interface ApiResources {
  readonly resources?: readonly { readonly name: string; readonly kind: string; readonly namespaced: boolean }[];
}

/** Path of the objects of a kind, of the namespace where the kind has one. Throws `not-found` for a kind that is not installed. */
export async function collectionOf(
  kube: Kube,
  { apiVersion, kind }: { readonly apiVersion: string; readonly kind: string },
  namespace: string,
): Promise<string> {
  const root = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const doing = `read which kinds ${apiVersion} has`;
  const { resources = [] } = await askKube<ApiResources>(kube, { method: 'GET', path: root }, doing);
  const found = resources.find((each) => each.kind === kind && !each.name.includes('/'));
  if (!found) throw new KcoverError('not-found', `${apiVersion} has no kind ${kind}`);
  return found.namespaced ? `${objectPath(`${root}/namespaces`, namespace)}/${found.name}` : `${root}/${found.name}`;
}
