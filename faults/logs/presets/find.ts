/** Finds patterns in lines. */

import type { LinePattern } from './preset.ts';

export type Groups = Readonly<Record<string, string | undefined>>;

/** The named groups of the pattern, where the line has it: at the first place of `from`. */
export function find({ from, pattern }: LinePattern, line: string): Groups | undefined {
  const at = line.indexOf(from);
  if (at === -1) return undefined;
  const match = pattern.exec(at === 0 ? line : line.slice(at));
  return match === null ? undefined : (match.groups ?? {});
}

/** The groups of the first of the patterns that the line has. */
export function findFirst(patterns: readonly LinePattern[] | undefined, line: string): Groups | undefined {
  for (const pattern of patterns ?? []) {
    const groups = find(pattern, line);
    if (groups !== undefined) return groups;
  }
  return undefined;
}

/** A safe integer from 0, with or without commas between thousands; undefined for anything else. */
export function wholeOf(digits: string | undefined): number | undefined {
  if (digits === undefined || !/^\d/.test(digits)) return undefined;
  const value = Number(digits.replaceAll(',', ''));
  return Number.isSafeInteger(value) ? value : undefined;
}
