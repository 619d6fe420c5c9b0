/** Values in queries on Temporal's visibility. */

import { KcoverError } from '../errors.ts';

/** `'text'`. Throws `name.invalid` for characters that no name or workflow id has: Temporal's parser knows more escapes than doubled quotes. */
export function quoted(text: string): string {
  if (/^[\w./:-]*$/.test(text)) return `'${text}'`;
  throw new KcoverError('name.invalid', `${JSON.stringify(text.slice(0, 80))} cannot stand in a query`);
}
