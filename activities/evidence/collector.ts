/** Stores what was found, redacted and within bounds, and records what is missing and why. */

import { KcoverError } from '../../contract/errors.ts';
import { evidenceLimits, type EvidenceFile } from '../../contract/recovery/evidence.ts';
import { redactLines } from '../../faults/redaction/log.ts';
import type { RedactionPattern } from '../../faults/redaction/pattern.ts';
import type { EvidenceDraft } from './store.ts';

type KeptFile = Pick<EvidenceFile, 'file' | 'what' | 'pod' | 'container'>;

/** Files written at the same time: each may take 1/16 of the space that is left. */
export const atOnce = 16;

/** A log shorter than this is not worth storing. */
const leastBytes = 512;

/** Length of the reasons in history, which are not a complete list. */
const becauseLength = 500;

export class EvidenceCollector {
  readonly #draft: EvidenceDraft;
  readonly #patterns: readonly RedactionPattern[];
  readonly #most: number;
  readonly #files: EvidenceFile[] = [];
  readonly #missing = new Map<
    string,
    { readonly subjects: Set<string>; readonly say: (count: number) => string; readonly detail: string }
  >();
  readonly #writing = new Set<Promise<void>>();
  #used = 0;
  #over = false;

  /** `most`: bytes of all files together. */
  constructor(draft: EvidenceDraft, patterns: readonly RedactionPattern[], most: number = evidenceLimits.bytes) {
    this.#draft = draft;
    this.#patterns = patterns;
    this.#most = most;
  }

  get files(): readonly EvidenceFile[] {
    return this.#files;
  }

  get bytes(): number {
    return this.#files.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /** Stores an object. Its texts may quote anything, so they are redacted. */
  document(kept: KeptFile, object: unknown): Promise<void> {
    let redacted = 0;
    const redactValue = (_: string, value: unknown): unknown => {
      if (typeof value !== 'string') return value;
      const found = redactLines(value.split('\n'), this.#patterns);
      redacted += found.redacted;
      return found.lines.join('\n');
    };
    const text = `${JSON.stringify(object, redactValue, 2)}\n`;
    if (Buffer.byteLength(text) > this.#spaceLeft())
      return Promise.resolve(this.miss(kept.what, kept.file, noSpaceLeft));
    return this.#write({ ...kept, ...(redacted > 0 && { redacted }) }, text);
  }

  /** Stores the end of a log, as much as fits. `cut`: it was truncated before. */
  log(kept: KeptFile, text: string, cut: boolean): Promise<void> {
    const spaceLeft = Math.min(evidenceLimits.logBytes, this.#spaceLeft());
    if (spaceLeft < leastBytes) return Promise.resolve(this.miss(kept.what, kept.pod ?? kept.file, noSpaceLeft));
    const found = redactLines(text.split('\n').slice(-evidenceLimits.logLines - 1), this.#patterns);
    const end = lastBytes(found.lines.join('\n'), spaceLeft);
    return this.#write(
      {
        ...kept,
        ...((cut || found.cut || end.cut) && { cut: true }),
        ...(found.redacted > 0 && { redacted: found.redacted }),
      },
      end.text,
    );
  }

  /** Records that something was looked for and is not there. */
  miss(what: Missing, subject: string, error: unknown): void {
    const { why, detail } = reasonOf(error);
    const key = `${what}\n${why}`;
    const known = this.#missing.get(key);
    if (known) known.subjects.add(subject);
    else
      this.#missing.set(key, {
        subjects: new Set([subject]),
        say: (count) => `${missingWords[what](subject, count)}: ${why}`,
        detail,
      });
  }

  /** Nothing can be added afterwards. Returns what was missing, in one sentence. */
  async end(): Promise<string | undefined> {
    this.#over = true;
    await Promise.allSettled(this.#writing);
    const reasons = [...this.#missing.values()].map(({ subjects, say, detail }) => `${say(subjects.size)}${detail}`);
    return reasons.length === 0 ? undefined : reasons.join('; ').slice(0, becauseLength);
  }

  /** The fuller the store, the less for each: so the last file still gets some space, and the number of files need not be known. */
  #spaceLeft(): number {
    return Math.floor((this.#most - this.#used) / atOnce);
  }

  async #write(kept: Omit<EvidenceFile, 'bytes'>, text: string): Promise<void> {
    if (this.#over) return;
    const bytes = Buffer.byteLength(text);
    this.#used += bytes;
    const writing = this.#draft.write(kept.file, text).then(
      () => void this.#files.push({ ...kept, bytes }),
      (error: unknown) => {
        this.#used -= bytes;
        this.miss(kept.what, kept.pod ?? kept.file, error);
      },
    );
    this.#writing.add(writing);
    await writing;
    this.#writing.delete(writing);
  }
}

const noSpaceLeft = new Error('no space was left');

/** Why something is missing, in the same words for everything that is missing for this reason. */
export class Missed extends Error {}

function reasonOf(error: unknown): { readonly why: string; readonly detail: string } {
  if (error instanceof KcoverError) return { why: error.message, detail: ` (first: ${error.because.slice(0, 160)})` };
  return { why: error instanceof Error ? error.message : 'unknown failure', detail: '' };
}

export type Missing = EvidenceFile['what'] | 'pods' | 'some-events';

const missingWords: Readonly<Record<Missing, (subject: string, count: number) => string>> = {
  log: (_, count) => `logs of ${counted(count, 'pod')}`,
  'previous-log': (_, count) => `earlier logs of ${counted(count, 'pod')}`,
  pod: (_, count) => `state of ${counted(count, 'pod')}`,
  pods: (subject) => subject,
  node: (subject, count) => (count === 1 ? `node ${subject}` : `${count} nodes`),
  kernel: (subject, count) => `kernel lines of ${count === 1 ? subject : `${count} nodes`}`,
  events: (subject, count) => (count === 1 ? `Events of ${subject}` : `Events of ${count} objects`),
  'some-events': (subject) => `some Events of ${subject}`,
  job: () => 'the job',
};

const counted = (count: number, word: string): string => `${count} ${word}${count === 1 ? '' : 's'}`;

/** Whole lines from the end, where there are any. */
function lastBytes(text: string, most: number): { readonly text: string; readonly cut: boolean } {
  const bytes = Buffer.from(text);
  if (bytes.length <= most) return { text, cut: false };
  const end = bytes.subarray(bytes.length - most);
  const line = end.indexOf(10);
  // A line longer than the limit: do not start in the middle of a character.
  const start = line >= 0 && line < end.length - 1 ? line + 1 : end.findIndex((byte) => (byte & 0xc0) !== 0x80);
  return { text: end.subarray(Math.max(0, start)).toString(), cut: true };
}
