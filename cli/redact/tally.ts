import type { RedactedLine } from '../../faults/redaction/log.ts';

/** Most lines that are listed one by one. */
const mostLines = 10_000;

/** Counts of what was redacted in a log. */
export interface Hidden {
  readonly lines: number;
  /** Lines in which something was redacted. */
  readonly redacted: number;
  /** Lines that were too long and lost their end. */
  readonly cut: number;
  /** Number of redactions, by pattern. */
  readonly places: Readonly<Record<string, number>>;
  /** The first of these lines, numbered from 1, with their redactions by pattern. */
  readonly hidden: readonly { readonly line: number; readonly places: Readonly<Record<string, number>> }[];
}

/** Counts redactions while a log is read. */
export class RedactionTally {
  #lines = 0;
  #redacted = 0;
  #cut = 0;
  readonly #places = new Map<string, number>();
  readonly #hidden: Hidden['hidden'][number][] = [];

  add({ hidden, cut }: RedactedLine): void {
    this.#lines += 1;
    if (cut) this.#cut += 1;
    if (hidden.size === 0) return;
    this.#redacted += 1;
    for (const [name, count] of hidden) this.#places.set(name, (this.#places.get(name) ?? 0) + count);
    if (this.#hidden.length < mostLines) this.#hidden.push({ line: this.#lines, places: Object.fromEntries(hidden) });
  }

  result = (): Hidden => ({
    lines: this.#lines,
    redacted: this.#redacted,
    cut: this.#cut,
    places: Object.fromEntries([...this.#places].toSorted(([a, one], [b, other]) => other - one || a.localeCompare(b))),
    hidden: this.#hidden,
  });
}

/** `3 places in 2 of 10 lines were hidden: password 2, jwt 1`. */
export function inWords({ lines, redacted, cut, places }: Hidden): string {
  const by = Object.entries(places).map(([name, count]) => `${name} ${count}`);
  const all = Object.values(places).reduce((sum, count) => sum + count, 0);
  const what =
    all === 0
      ? `nothing was hidden in ${counted(lines, 'line')}`
      : `${counted(all, 'place')} in ${redacted} of ${counted(lines, 'line')} hidden: ${by.join(', ')}`;
  return cut === 0 ? what : `${what}; ${counted(cut, 'line')} cut, being too long`;
}

const counted = (count: number, word: string): string => `${count} ${word}${count === 1 ? '' : 's'}`;
