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

const placeholder = /\[redacted: ([\w-]+)\]/g;

/** How many places of a line were hidden, by pattern. `before` may hold marks of its own. */
export function hiddenPlaces(before: string, after: string): ReadonlyMap<string, number> {
  if (before === after) return new Map();
  const [was, is] = [placeholdersIn(before), placeholdersIn(after)];
  return new Map([...is].map(([name, count]) => [name, count - (was.get(name) ?? 0)] as const).filter(([, count]) => count > 0));
}

function placeholdersIn(text: string): ReadonlyMap<string, number> {
  const placeholders = new Map<string, number>();
  for (const [, name = ''] of text.matchAll(placeholder)) placeholders.set(name, (placeholders.get(name) ?? 0) + 1);
  return placeholders;
}
