/** Search attributes as Temporal takes them: plain data of the shape that the SDK calls a typed pair. */

import { type SearchAttribute, searchAttributes } from './ids.ts';

/** Values by name; those left out are not set. */
export type AttributeValues = Readonly<Partial<Record<SearchAttribute, string | readonly string[]>>>;

type Pair =
  | { readonly key: { readonly name: string; readonly type: 'KEYWORD' }; readonly value: string }
  | { readonly key: { readonly name: string; readonly type: 'KEYWORD_LIST' }; readonly value: string[] };

/** For `typedSearchAttributes`. A list that is not one becomes one; what does not fit its type is left out. */
export const searchAttributePairs = (values: AttributeValues): Pair[] =>
  Object.entries(values).flatMap(([name, value]): Pair[] => {
    const type = searchAttributes[name as SearchAttribute];
    if (type === 'KEYWORD_LIST') return [{ key: { name, type }, value: typeof value === 'string' ? [value] : [...value] }];
    return typeof value === 'string' ? [{ key: { name, type }, value }] : [];
  });
