/** The Markdown elements of the generated pages. */

export const generated = (from: string): string =>
  `<!-- Made from ${from} by npm run generate; changes here are lost. -->`;

export const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ');

export const markdownTable = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows.map((row) => row.map(cell))]
    .map((cells) => `| ${cells.join(' | ')} |`)
    .join('\n');
