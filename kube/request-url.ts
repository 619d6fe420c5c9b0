/** Addresses of requests: no text that stands in a path can make it the path of something else. */

import { KcoverError } from '../contract/errors.ts';
import { objectName } from '../contract/object-names.ts';

/** Where one object of a collection is. Throws `name.invalid`. */
export const objectPath = (collection: string, name: string): string => `${collection}/${objectName(name)}`;

/** Where the objects of one namespace are: `/api/v1`, `pods`. Throws `name.invalid`. */
export const collectionPath = (api: string, namespace: string, plural: string): string => `${objectPath(`${api}/namespaces`, namespace)}/${plural}`;

/** Parts of letters, digits and what else names of resources may have. Nothing that an address folds, decodes or cuts off. */
const plainPath = /^(\/[\w.:-]+)+$/;

/**
 * The address of a path at a server. Throws `name.invalid` unless the address leads to exactly this path: a `..` is folded, encoded or not,
 * and `?` and `#` end a path.
 */
export function requestUrl(server: string, path: string, query: Readonly<Record<string, string | undefined>> = {}): URL {
  const url = new URL(server);
  const whole = url.pathname.replace(/\/$/, '') + path;
  const isPlain = plainPath.test(path);
  if (isPlain) url.pathname = whole;
  if (!isPlain || url.pathname !== whole) throw new KcoverError('name.invalid', `${JSON.stringify(path.slice(0, 200))} is not the path that it seems to be`);
  for (const [key, value] of Object.entries(query)) if (value !== undefined) url.searchParams.set(key, value);
  return url;
}
