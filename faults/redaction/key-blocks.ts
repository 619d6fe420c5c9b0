/** Finds private keys of several lines in a log, also with lines of other ranks in between and with either end missing. */

import { withoutEscapes } from '../../contract/text.ts';

/** Most lines of a key. */
export const keyLength = 150;

const begins = /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/;
const ends = /-----END [A-Z0-9 ]{0,40}PRIVATE KEY/;
/** After the BEGIN mark only key data, quotes and escapes may follow: in a sentence it is only a mention. Repetitions are bounded to keep matching linear. */
const startsBlock =
  /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:\\[rn]|["'\s,+\\]){0,64}[\w+/=]*["'\\,\s]{0,64}$/;
/** The end of a line of a key, after any prefix of a logger. */
const longEnd = /[A-Za-z0-9+/=]{24}["'\\n,+\s]{0,8}$/;
const longEndLength = 32;
const header = /(?:Proc-Type|DEK-Info):/;
const encoded = /^["']?[A-Za-z0-9+/]{1,400}={0,2}(?:\\[rn]|["'\\,+\s]){0,8}$/;

interface KeyBlockLine {
  /** The line consists of key data only. */
  readonly isKey: boolean;
  readonly text: string;
}

/** Most keys that are tracked at once, because each is compared with every line. */
const mostOpen = 64;

/** Most characters of a logger's prefix that are compared. */
const startLength = 400;

/** Lines of one logger have the same prefix, except for numbers. */
const alike = (start: string): string => start.trimStart().replace(/\d+/g, '0');

export class KeyBlocks {
  readonly #lines: KeyBlockLine[] = [];
  /** Open keys, by the prefix of their lines, and how many lines are left for each. */
  #open: { readonly start: string; left: number }[] = [];

  /** Takes a line; returns which lines are now known to be part of a key, as distances back from it: 0 is the line itself. */
  push(line: string): readonly number[] {
    const text = withoutEscapes(line).trimEnd();
    const isKey = longEnd.test(text.slice(-longEndLength)) || header.test(text);
    this.#lines.push({ isKey, text });
    if (this.#lines.length > keyLength) this.#lines.shift();
    const begin = begins.exec(text);
    const end = ends.exec(text);
    if (begin && end) return [];
    if (end) return this.#ended(text.slice(0, end.index));
    if (begin) {
      if (startsBlock.test(text)) this.#began(text.slice(0, Math.min(begin.index, startLength)));
      return [0];
    }
    return this.#isInside(text, isKey) ? [0] : [];
  }

  #began(before: string): void {
    this.#open = [...this.#open, { start: alike(before), left: keyLength }].slice(-mostOpen);
  }

  #isInside(text: string, isKey: boolean): boolean {
    if (this.#open.length === 0) return false;
    const inside = isKey || this.#open.some(({ start }) => isEncoded(text, start));
    for (const one of this.#open) one.left -= 1;
    this.#open = this.#open.filter(({ left }) => left > 0);
    return inside;
  }

  /** Lines before the END mark with its prefix, and uninterrupted lines of key data. */
  #ended(before: string): readonly number[] {
    const hasStarted = this.#open.length > 0;
    this.#open.pop();
    const start = alike(before.slice(0, startLength));
    const found = [0];
    let isRow = !hasStarted;
    for (let back = 1; back < this.#lines.length; back++) {
      const line = this.#lines.at(-1 - back);
      if (line === undefined || begins.test(line.text) || ends.test(line.text)) break;
      const same = isEncoded(line.text, start) && (line.isKey || back <= 2);
      if (same || (isRow && line.isKey)) found.push(back);
      else isRow = false;
    }
    return found;
  }
}

function isEncoded(text: string, start: string): boolean {
  const cut = Math.max(text.lastIndexOf(' '), text.lastIndexOf('\t')) + 1;
  return (
    encoded.test(text.slice(cut)) && alike(text.slice(0, Math.min(cut, startLength))).trimEnd() === start.trimEnd()
  );
}
