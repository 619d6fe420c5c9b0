/**
 * Hides what looks like a secret in lines that others wrote. It knows shapes, not meanings: a secret without a shape stays, and a
 * harmless word that looks like one goes.
 */

import { withoutEscapes } from '../../contract/text.ts';
import type { RedactionPattern } from './pattern.ts';

/** The line without escape sequences, with every match replaced by the name of its pattern; the same line where there is nothing of either. */
export const redact = (line: string, patterns: readonly RedactionPattern[]): string =>
  patterns.reduce((text, { name, pattern }) => text.replace(pattern, (...match) => `${keptOf(match.at(-1))}[redacted: ${name}]`), withoutEscapes(line));

function keptOf(groups: unknown): string {
  if (typeof groups !== 'object' || groups === null || !('kept' in groups)) return '';
  return typeof groups.kept === 'string' ? groups.kept : '';
}

const mark = /\[redacted: ([\w-]+)\]/g;

/** How many places of a line were hidden, by pattern. `before` may hold marks of its own. */
export function hiddenPlaces(before: string, after: string): ReadonlyMap<string, number> {
  const places = new Map<string, number>();
  if (before === after) return places;
  for (const [, name = ''] of after.matchAll(mark)) places.set(name, (places.get(name) ?? 0) + 1);
  for (const [, name = ''] of before.matchAll(mark)) places.set(name, Math.max(0, (places.get(name) ?? 0) - 1));
  return places;
}
