/** Writes a page as Markdown in which foreign text cannot become markup. */

import { inMarkdown, oneLine, printable } from '../../contract/text.ts';
import { type Block, type Line, type Page, type Piece, withoutEmpty } from './page.ts';

const most = 20_000;

/** Foreign text as inline code. */
export const code = (text: string): string => `\`${oneLine(text.replaceAll(/[`\s|]+/g, ' '), most)}\``;

/** Pieces of a line keep the blanks between them. */
const inline = (text: string): string =>
  `${/^\s/.test(text) ? ' ' : ''}${inMarkdown(text)}${/\S\s+$/.test(text) ? ' ' : ''}`;

function ofPiece(piece: Piece): string {
  if (typeof piece === 'string') return inline(piece);
  return 'code' in piece ? code(piece.code) : `**${inMarkdown(piece.strong)}**`;
}

const ofLine = (line: Line): string => line.map(ofPiece).join('');

/** Several lines of foreign text, as a code block. */
export function quote(lines: readonly string[]): string {
  const text = lines.map((line) => printable(line.replaceAll('\n', ' ')).trimEnd());
  const longest = Math.max(2, ...text.flatMap((line) => [...line.matchAll(/`+/g)].map(([ticks]) => ticks.length)));
  const fence = '`'.repeat(longest + 1);
  return [fence, ...text, fence].join('\n');
}

function ofBlock(block: Block): string {
  switch (block.kind) {
    case 'text':
      return block.lines.map(ofLine).join('\\\n');
    case 'list':
      return block.lines.map((line) => `- ${ofLine(line)}`).join('\n');
    case 'quote':
      return quote(block.lines);
    case 'table': {
      const row = (cells: readonly string[]) => `| ${cells.map((cell) => (cell === '' ? '-' : cell)).join(' | ')} |`;
      const lines = block.rows.map((cells) => row(cells.map(ofLine)));
      return [row(block.head), row(block.head.map(() => '---')), ...lines].join('\n');
    }
  }
}

export function markdownOf(page: Page): string {
  const { title, intro, sections } = withoutEmpty(page);
  return [
    `# ${inMarkdown(title)}`,
    intro.map((line) => `- ${ofLine(line)}`).join('\n'),
    ...sections.flatMap((section) => [`## ${section.title}`, ...section.blocks.map(ofBlock)]),
  ].join('\n\n');
}
