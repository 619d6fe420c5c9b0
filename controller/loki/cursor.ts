/**
 * How far the lines of one query were read. Only faults have to be remembered: reading any other line twice changes nothing. Pure.
 */

/** Times are nanoseconds since the epoch, as Loki has them. */
export interface Cursor {
  /** Lines from before this are not read again. */
  readonly from: bigint;
  /** Ids of the faults from then on, each with the time of its line. */
  readonly sent: ReadonlyMap<string, bigint>;
}

/** Faults that are remembered: some 60 bytes each, and a ConfigMap of ten queries has at most 1 MiB. */
export const mostSent = 1000;

export const beginAt = (from: bigint): Cursor => ({ from, sent: new Map() });

/**
 * After the lines before `through` were read, and perhaps some at it. Lines may still arrive late, so the next look begins `overlap` earlier.
 * In a flood of faults it begins later than that: a line that is remembered no more must not be read again.
 */
export function advance(
  cursor: Cursor,
  through: bigint,
  faults: Iterable<readonly [id: string, at: bigint]>,
  overlap: bigint,
): Cursor {
  const known = [...new Map([...cursor.sent, ...faults])].toSorted(([, a], [, b]) => (a < b ? -1 : a > b ? 1 : 0));
  let from = through - overlap > cursor.from ? through - overlap : cursor.from;
  // Lines at `through` may not be complete, so their faults stay however many there are.
  const forgotten = known.slice(0, Math.max(0, known.length - mostSent)).findLast(([, at]) => at < through);
  if (forgotten && forgotten[1] >= from) from = forgotten[1] + 1n;
  return { from, sent: new Map(known.filter(([, at]) => at >= from)) };
}

export const formatCursor = ({ from, sent }: Cursor): string =>
  JSON.stringify({ from: `${from}`, sent: Object.fromEntries([...sent].map(([id, at]) => [id, `${at}`])) });

const isTime = (value: unknown): value is string => typeof value === 'string' && /^\d{1,19}$/.test(value);

/** Undefined for anything that `formatCursor` does not write. */
export function parseCursor(text: string): Cursor | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof value !== 'object' || value === null || !('from' in value) || !('sent' in value)) return undefined;
  const { from, sent } = value;
  if (!isTime(from) || typeof sent !== 'object' || sent === null || Array.isArray(sent)) return undefined;
  const entries = Object.entries(sent);
  const known = entries.flatMap(([id, at]) => (isTime(at) ? [[id, BigInt(at)] as const] : []));
  return known.length === entries.length ? { from: BigInt(from), sent: new Map(known) } : undefined;
}
