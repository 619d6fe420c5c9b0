/** Search attributes and current details: what a person sees in the Temporal UI without opening a history. */

import type { SearchAttributePair } from '@temporalio/common';
import { setCurrentDetails, upsertSearchAttributes } from '@temporalio/workflow';
import type { SearchAttribute } from '../contract/ids.ts';
import { searchAttributePairs } from '../contract/wire/search-attributes.ts';
import { inMarkdown } from '../contract/text.ts';

export { iso } from '../contract/settings/duration.ts';

export type Attributes = Partial<Record<Exclude<SearchAttribute, 'KcoverNode'>, string>> & {
  KcoverNode?: readonly string[];
};

/** Pairs for a start or an upsert. */
export const attributePairs = (attributes: Attributes): SearchAttributePair[] => searchAttributePairs(attributes);

/** Writes only what changed since the start, which wrote `given`: every upsert is an event. */
export function attributeWriter(given: Attributes = {}): (attributes: Attributes) => void {
  const written = new Map(attributePairs(given).map(({ key, value }) => [key.name, String(value)]));
  return (attributes) => {
    const changed = attributePairs(attributes).filter(({ key, value }) => written.get(key.name) !== String(value));
    if (changed.length === 0) return;
    for (const { key, value } of changed) written.set(key.name, String(value));
    upsertSearchAttributes(changed);
  };
}

export const showDetails = (title: string, rows: Rows): void => setCurrentDetails(detailsOf(title, rows));

/** Title and rows of the current details. */
export interface Details {
  readonly title: string;
  readonly rows: Rows;
}

type Rows = readonly (readonly [string, string | undefined])[];

/** Details as Markdown: a title line and a two-column table. Text written by tenants is escaped. */
export function detailsOf(title: string, rows: Rows): string {
  const lines = rows.flatMap(([name, value]) =>
    value === undefined || value === '' ? [] : [`| ${inMarkdown(name)} | ${inMarkdown(value)} |`],
  );
  return `**${inMarkdown(title)}**\n\n| | |\n|---|---|\n${lines.join('\n')}`;
}
