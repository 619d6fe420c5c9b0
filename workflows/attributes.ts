/** Search attributes and current details: what a person sees in the Temporal UI without opening a history. */

import { defineSearchAttributeKey, type SearchAttributePair, type SearchAttributeType } from '@temporalio/common';
import { setCurrentDetails, upsertSearchAttributes } from '@temporalio/workflow';
import { type SearchAttribute, searchAttributes } from '../contract/ids.ts';

export type Attributes = Partial<Record<Exclude<SearchAttribute, 'KcoverNode'>, string>> & { KcoverNode?: readonly string[] };

const pair = ([name, value]: [string, string | readonly string[]]): SearchAttributePair =>
  ({
    key: defineSearchAttributeKey(name, searchAttributes[name as SearchAttribute] as SearchAttributeType),
    value: typeof value === 'string' ? value.slice(0, 200) : [...value],
  }) as SearchAttributePair;

/** Pairs for a start or an upsert. */
export const attributePairs = (attributes: Attributes): SearchAttributePair[] =>
  Object.entries(attributes).flatMap(([name, value]) => (value === undefined ? [] : [pair([name, value])]));

/** Writes only what changed since the start, which wrote `given`: every upsert is an event. */
export function attributeWriter(given: Attributes = {}): (attributes: Attributes) => void {
  const written = new Map(Object.entries(given).map(([name, value]) => [name, String(value)]));
  return (attributes) => {
    const changed = Object.entries(attributes).filter(([name, value]) => value !== undefined && written.get(name) !== String(value)) as [string, string][];
    if (changed.length === 0) return;
    for (const [name, value] of changed) written.set(name, String(value));
    upsertSearchAttributes(attributePairs(Object.fromEntries(changed)));
  };
}

/** Current details as Markdown: a title line and a two-column table. */
export function showDetails(title: string, rows: readonly (readonly [string, string | undefined])[]): void {
  const lines = rows.flatMap(([name, value]) =>
    value === undefined || value === '' ? [] : [`| ${name} | ${value.replaceAll('|', '\\|').replaceAll('\n', ' ')} |`],
  );
  setCurrentDetails(`**${title}**\n\n| | |\n|---|---|\n${lines.join('\n')}`);
}

/** `2026-11-21T07:14:04.123Z`. */
export const iso = (ms: number): string => new Date(ms).toISOString();
