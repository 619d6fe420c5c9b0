/** A page without a format: Markdown and HTML are made from it. All text in it is foreign until a renderer has escaped it. */

/** A piece of a line; a plain string is text without emphasis. */
export type Piece = string | { readonly code: string } | { readonly strong: string };

export type Line = readonly Piece[];

export type Block =
  | { readonly kind: 'text' | 'list'; readonly lines: readonly Line[] }
  | { readonly kind: 'table'; readonly head: readonly string[]; readonly rows: readonly (readonly Line[])[] }
  | { readonly kind: 'quote'; readonly lines: readonly string[] };

export interface Section {
  readonly title: string;
  readonly blocks: readonly Block[];
}

export interface Page {
  readonly title: string;
  readonly intro: readonly Line[];
  /** Those without content are left out. */
  readonly sections: readonly Section[];
}

export const text = (...lines: readonly Line[]): Block => ({ kind: 'text', lines });
export const list = (lines: readonly Line[]): Block => ({ kind: 'list', lines });
export const quote = (lines: readonly string[]): Block => ({ kind: 'quote', lines });

/** Rows of plain text, or of lines. */
export const table = (head: readonly string[], rows: readonly (readonly (string | Line)[])[]): Block => ({
  kind: 'table',
  head,
  rows: rows.map((row) => row.map((cell) => (typeof cell === 'string' ? [cell] : cell))),
});

export const hasContent = (block: Block): boolean => (block.kind === 'table' ? block.rows : block.lines).length > 0;

/** A page without sections and blocks that are empty. */
export const withoutEmpty = ({ title, intro, sections }: Page): Page => ({
  title,
  intro,
  sections: sections
    .map((section) => ({ ...section, blocks: section.blocks.filter(hasContent) }))
    .filter(({ blocks }) => blocks.length > 0),
});
