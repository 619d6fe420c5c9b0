/** Values in queries on Temporal's visibility. */

import { KcoverError } from './errors.ts';

/** `'text'`. Throws `name.invalid` for what no name or workflow id holds: its parser knows more escapes than doubled quotes. */
export function quoted(text: string): string {
  if (/^[\w./:-]*$/.test(text)) return `'${text}'`;
  throw new KcoverError('name.invalid', `${JSON.stringify(text.slice(0, 80))} cannot stand in a query`);
}
