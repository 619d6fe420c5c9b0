/** Search attributes as plain data of the shape that the SDK calls a typed pair. */

import { type SearchAttribute, searchAttributes } from '../ids.ts';

/** Values by name; those left out are not set. */
export type AttributeValues = Readonly<Partial<Record<SearchAttribute, string | readonly string[]>>>;

type AttributePair =
  | { readonly key: { readonly name: string; readonly type: 'KEYWORD' }; readonly value: string }
  | { readonly key: { readonly name: string; readonly type: 'KEYWORD_LIST' }; readonly value: string[] };

/**
 * Temporal terminates a workflow that writes a value of more than 2,048 bytes, and SQL stores take 255 characters for a word.
 * Source: `frontend.searchAttributesSizeOfValueLimit`, `handleCommandUpsertWorkflowSearchAttributes` of Temporal's history service.
 */
const most = { characters: 200, bytes: 1500 } as const;

/** For `typedSearchAttributes` and upserts, each value truncated to what Temporal takes. A single value for a list becomes a list; a value of the wrong type is left out. */
export const searchAttributePairs = (values: AttributeValues): AttributePair[] =>
  Object.entries(values).flatMap(([name, value]): AttributePair[] => {
    const type = searchAttributes[name as SearchAttribute];
    if (type === 'KEYWORD_LIST')
      return [{ key: { name, type }, value: cutList(typeof value === 'string' ? [value] : value) }];
    return typeof value === 'string' ? [{ key: { name, type }, value: cutText(value) }] : [];
  });

/** At most six bytes a character as JSON, so it stays below the bytes too. */
const cutText = (text: string): string => text.slice(0, most.characters);

/** As many as fit, from the front. */
function cutList(texts: readonly string[]): string[] {
  const kept: string[] = [];
  let bytes = 2;
  for (const text of texts.map(cutText)) {
    bytes += bytesOf(text) + 1;
    if (bytes > most.bytes) break;
    kept.push(text);
  }
  return kept;
}

const encoder = new TextEncoder();

/** Payload size: JSON in UTF-8. */
const bytesOf = (text: string): number => encoder.encode(JSON.stringify(text)).length;
