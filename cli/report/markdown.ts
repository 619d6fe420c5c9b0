/** Builds Markdown in which untrusted text cannot become markup. */

import { inMarkdown, oneLine, printable } from '../../contract/text.ts';

/** Untrusted text as one line without markup. */
export const plain = (text: string): string => inMarkdown(text);

/** Untrusted text as inline code. */
export const code = (text: string): string => `\`${oneLine(text.replaceAll(/[`\s|]+/g, ' '), most)}\``;

const most = 20_000;

/** A table; empty without rows. */
export function grid(head: readonly string[], rows: readonly (readonly string[])[]): string {
  if (rows.length === 0) return '';
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => (cell === '' ? '-' : cell)).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

export const list = (items: readonly string[]): string => items.map((item) => `- ${item}`).join('\n');

/** Several lines of untrusted text, as a code block. */
export function quote(lines: readonly string[]): string {
  const text = lines.map((line) => printable(line.replaceAll('\n', ' ')).trimEnd());
  const longest = Math.max(2, ...text.flatMap((line) => [...line.matchAll(/`+/g)].map(([ticks]) => ticks.length)));
  const fence = '`'.repeat(longest + 1);
  return [fence, ...text, fence].join('\n');
}

export interface Section {
  readonly title: string;
  /** A section without text is left out. */
  readonly text: string | undefined;
}

export const sections = (title: string, intro: string, all: readonly Section[]): string =>
  [
    `# ${title}`,
    intro,
    ...all.flatMap((section) =>
      section.text === undefined || section.text === '' ? [] : [`## ${section.title}`, section.text],
    ),
  ].join('\n\n');
