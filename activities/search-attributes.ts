/** Search attributes of a start, in the SDK's form. */

import { defineSearchAttributeKey, type SearchAttributePair } from '@temporalio/common';
import type { Start } from '../contract/starts.ts';
import { type SearchAttribute, searchAttributes } from '../contract/ids.ts';

/** Pairs for `typedSearchAttributes`. */
export const searchAttributePairs = (attributes: Start<unknown>['attributes']): SearchAttributePair[] =>
  Object.entries(attributes).flatMap(([name, value]): SearchAttributePair[] => {
    const type = searchAttributes[name as SearchAttribute];
    if (type === 'KEYWORD_LIST') return [{ key: defineSearchAttributeKey(name, type), value: typeof value === 'string' ? [value] : [...value] }];
    return typeof value === 'string' ? [{ key: defineSearchAttributeKey(name, type), value }] : [];
  });
