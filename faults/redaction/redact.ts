/**
 * Redacts what looks like a secret in untrusted lines. It matches patterns only: a secret without a known pattern stays, and a harmless word
 * that matches one is redacted.
 */

import { withoutEscapes } from '../../contract/text.ts';
import type { RedactionPattern } from './pattern.ts';

/** The line without escape sequences, with every match replaced by the name of its pattern; the same line where there is nothing of either. */
export const redact = (line: string, patterns: readonly RedactionPattern[]): string =>
  patterns.reduce(
    (text, { name, pattern }) => text.replace(pattern, (...match) => `${keptOf(match.at(-1))}[redacted: ${name}]`),
    withoutEscapes(line),
  );

function keptOf(groups: unknown): string {
  if (typeof groups !== 'object' || groups === null || !('kept' in groups)) return '';
  return typeof groups.kept === 'string' ? groups.kept : '';
}

const placeholder = /\[redacted: ([\w-]+)\]/g;

/** Number of redactions in a line, by pattern. `before` may already contain marks. */
export function hiddenPlaces(before: string, after: string): ReadonlyMap<string, number> {
  if (before === after) return new Map();
  const [was, is] = [placeholdersIn(before), placeholdersIn(after)];
  return new Map(
    [...is].map(([name, count]) => [name, count - (was.get(name) ?? 0)] as const).filter(([, count]) => count > 0),
  );
}

function placeholdersIn(text: string): ReadonlyMap<string, number> {
  const placeholders = new Map<string, number>();
  for (const [, name = ''] of text.matchAll(placeholder)) placeholders.set(name, (placeholders.get(name) ?? 0) + 1);
  return placeholders;
}
