/** Prints the output of a command in the requested format. */

import Table from 'cli-table3';
import { stringify } from 'yaml';
import { escapeUnseen, oneLine, printable } from '../../contract/text.ts';
import type { CommandOutput, OutputFormat } from './command.ts';

export function print(answer: CommandOutput, format: OutputFormat): string {
  switch (format) {
    case 'json':
      return `${escapeUnseen(JSON.stringify(answer.data, undefined, 2))}\n`;
    case 'yaml':
      return yaml(answer.data);
    case 'table':
      return answer.text === '' ? '' : `${printable(answer.text)}\n`;
  }
}

/** The data as YAML. Invisible characters are escaped, which needs strings in double quotes. */
export function yaml(data: unknown): string {
  const text = stringify(data, { lineWidth: 0 });
  return escapeUnseen(text) === text
    ? text
    : escapeUnseen(stringify(data, { lineWidth: 0, defaultStringType: 'QUOTE_DOUBLE' }));
}

const borders = [
  'top',
  'top-mid',
  'top-left',
  'top-right',
  'bottom',
  'bottom-mid',
  'bottom-left',
  'bottom-right',
  'left',
  'left-mid',
  'mid',
  'mid-mid',
  'right',
  'right-mid',
] as const;
const plain = {
  chars: { ...Object.fromEntries(borders.map((name) => [name, ''])), middle: '   ' },
  style: { 'padding-left': 0, 'padding-right': 0, head: [], border: [], compact: true },
};

/** Columns without borders, as in kubectl. An empty cell is printed as `-`. */
export function table(head: readonly string[], rows: readonly (readonly (string | undefined)[])[]): string {
  const drawn = new Table({ ...plain, ...(head.length > 0 && { head: head.map((name) => name.toUpperCase()) }) });
  for (const row of rows) drawn.push(row.map((cell) => (cell === undefined || cell === '' ? '-' : cellText(cell))));
  return trimLines(drawn.toString());
}

/** Names and values; rows without a value are left out. */
export function properties(rows: readonly (readonly [string, string | undefined])[]): string {
  const drawn = new Table(plain);
  for (const [name, value] of rows) if (value !== undefined && value !== '') drawn.push([`  ${name}`, cellText(value)]);
  return trimLines(drawn.toString());
}

const trimLines = (text: string): string =>
  text
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n');

/** Text from outside, such as a kernel line, on one line and without control characters, so that it can neither break a row nor control the terminal. */
const cellText = (text: string): string => oneLine(text.replaceAll(/\s+/g, ' '), cellLength);

const cellLength = 20_000;
