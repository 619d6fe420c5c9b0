/** Redacts secrets in the lines of a log, also those that span several lines. Reads a stream, and buffers at most as many lines as a key has. */

import { namedLine } from './pairs.ts';
import { emptyValue } from './named.ts';
import { KeyBlocks, keyLength } from './key-blocks.ts';
import type { RedactionPattern } from './pattern.ts';
import { hiddenPlaces, redact } from './redact.ts';

/** Most characters of one line; the rest is cut off before the search, to bound its time. */
export const lineLength = 16 * 1024;

export interface RedactedLine {
  readonly text: string;
  /** Number of redactions, by pattern. */
  readonly hidden: ReadonlyMap<string, number>;
  /** The line was too long and was cut. */
  readonly cut: boolean;
}

/** A time that a logger or kubectl puts before each line. */
const time = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\S*\s/;
const oneValue = /^(?<kept>\s{0,200}(?:[|>][+-]?\s)?[bru]{0,2}["']?)[^\s"']{4,}["']?,?\s*$/i;
const valueOf = /^(?<kept>\s{0,200}["']?value["']?\s{0,8}[:=]\s{0,8})\S.*$/i;

/** The pattern for the next line, where that holds the value of a name at the end of this one. */
function expectedAfter(line: string): RegExp | undefined {
  if (/[=:|>+-]\s{0,8}$/.test(line.slice(-9)) && emptyValue.test(line)) return oneValue;
  return line.length < 400 && namedLine.test(line) ? valueOf : undefined;
}

export class LogRedactor {
  readonly #patterns: readonly RedactionPattern[];
  readonly #keys = new KeyBlocks();
  #waiting: RedactedLine[] = [];
  /** Pattern for the next line, if it holds the value of the one before. */
  #expects: RegExp | undefined;

  constructor(patterns: readonly RedactionPattern[]) {
    this.#patterns = patterns;
  }

  /** Takes one line; returns those that can no longer be part of a key. */
  push(line: string): RedactedLine[] {
    const looked = line.slice(0, lineLength);
    const cut = line.length > lineLength;
    const keyLines = this.#keys.push(looked);
    this.#waiting.push(this.#redactOne(looked, cut));
    for (const back of keyLines) {
      const at = this.#waiting.length - 1 - back;
      const found = this.#waiting[at];
      if (found)
        this.#waiting[at] = { ...found, text: '[redacted: private-key]', hidden: new Map([['private-key', 1]]) };
    }
    return this.#waiting.splice(0, this.#waiting.length - keyLength);
  }

  /** The remaining lines. */
  end(): RedactedLine[] {
    return this.#waiting.splice(0);
  }

  #redactOne(line: string, cut: boolean): RedactedLine {
    const text = this.#hideValue(redact(line, this.#patterns));
    return { text, hidden: hiddenPlaces(line, text), cut };
  }

  /** A name at the end of a line has its value in the next one. */
  #hideValue(line: string): string {
    const [before] = time.exec(line) ?? [''];
    const rest = line.slice(before.length);
    const expected = this.#expects;
    this.#expects = expectedAfter(rest);
    return expected === undefined ? line : `${before}${rest.replace(expected, '$<kept>[redacted: password]')}`;
  }
}

export interface RedactedLog {
  readonly lines: readonly string[];
  /** Lines in which something was redacted. */
  readonly redacted: number;
  /** Lines were too long. */
  readonly cut: boolean;
}

/** All lines of a log, including private keys of several lines. */
export function redactLines(lines: readonly string[], patterns: readonly RedactionPattern[]): RedactedLog {
  const log = new LogRedactor(patterns);
  const done = [...lines.flatMap((line) => log.push(line)), ...log.end()];
  return {
    lines: done.map(({ text }) => text),
    redacted: done.filter(({ hidden }) => hidden.size > 0).length,
    cut: done.some(({ cut }) => cut),
  };
}
