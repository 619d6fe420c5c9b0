/** URLs of requests: no text in a path can redirect it to another object. */

import { KcoverError } from '../../contract/errors.ts';
import { objectName } from '../../contract/object-names.ts';

/** Path of one object of a collection. Throws `name.invalid`. */
export const objectPath = (collection: string, name: string): string => `${collection}/${objectName(name)}`;

/** Path of the objects of one namespace, from `/api/v1` and `pods`. Throws `name.invalid`. */
export const collectionPath = (api: string, namespace: string, plural: string): string =>
  `${objectPath(`${api}/namespaces`, namespace)}/${plural}`;

/** Segments of characters that resource names may have: none that URL parsing normalises, decodes or cuts off. */
const plainPath = /^(\/[\w.:-]+)+$/;

/**
 * The URL of a path at a server. Throws `name.invalid` unless it leads to exactly this path: `..` is resolved, encoded or not,
 * and `?` and `#` end a path.
 */
export function requestUrl(
  server: string,
  path: string,
  query: Readonly<Record<string, string | undefined>> = {},
): URL {
  const url = new URL(server);
  const whole = url.pathname.replace(/\/$/, '') + path;
  const isPlain = plainPath.test(path);
  if (isPlain) url.pathname = whole;
  if (!isPlain || url.pathname !== whole)
    throw new KcoverError('name.invalid', `${JSON.stringify(path.slice(0, 200))} would not stay the path of a request`);
  for (const [key, value] of Object.entries(query)) if (value !== undefined) url.searchParams.set(key, value);
  return url;
}
