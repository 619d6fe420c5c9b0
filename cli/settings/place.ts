/** Formats a position in a file: file, line and column, the line itself, and carets under the wrong part. */

import type { LineCounter } from 'yaml';

/** Offsets in the text. */
export interface TextRange {
  readonly start: number;
  readonly end: number;
}

/** A problem at a position, with its remedy. */
export interface SettingsProblem {
  readonly what: string;
  readonly place: TextRange;
  readonly remedy: string;
}

export interface Source {
  readonly file: string;
  readonly text: string;
  readonly lines: LineCounter;
}

export function pointAt({ file, text, lines }: Source, { what, place, remedy: advice }: SettingsProblem): string {
  const { line, col } = lines.linePos(Math.min(place.start, text.length));
  const content = (text.split('\n')[Math.max(line, 1) - 1] ?? '').replace(/\r$/, '');
  const column = Math.max(col, 1);
  const width = Math.max(1, Math.min(place.end - place.start, content.length - column + 1));
  const number = String(Math.max(line, 1));
  const margin = ' '.repeat(number.length);
  // Tabs stay tabs, so that the caret is aligned.
  const indent = content.slice(0, column - 1).replaceAll(/[^\t]/g, ' ');
  return [
    `error[settings.invalid]: ${what}`,
    `  because: ${file}:${number}:${column}`,
    `    ${number} | ${content}`,
    `    ${margin} | ${indent}${'^'.repeat(width)}`,
    `  try:     ${advice}`,
  ].join('\n');
}
