/** The bursts that rules over time count: a storm of lines is one, so that a fault counts and not how often a driver repeats itself. Pure. */

import type { Burst, NodeHistory } from '../../contract/node/history.ts';

/** Faults this close to each other are one burst, ms; rules may count them more coarsely. */
export const burstMs = 15_000;

/** Beyond `perKey`, bursts that every rule but the finest counts as one are merged; beyond that the oldest are dropped. */
const most = { perKey: 16, total: 64, coarseMs: 180_000 } as const;

/** One fault, as the history keeps it: entries that follow each other closely become one burst. */
export type HistoryEntry = Omit<Burst, 'first' | 'last'> & { readonly at: number };

type Span = Pick<Burst, 'first' | 'last'>;

const isSame = (a: Omit<Burst, 'first' | 'last'>, b: Omit<Burst, 'first' | 'last'>): boolean =>
  a.code === b.code &&
  a.device === b.device &&
  a.place === b.place &&
  a.action === b.action &&
  a.explained === b.explained &&
  a.untrusted === b.untrusted;

const isNear = ({ first, last }: Span, at: number, gapMs: number): boolean => at >= first - gapMs && at <= last + gapMs;

/** Whether it belongs to a burst that is known. */
export const isRepeated = (history: NodeHistory, entry: HistoryEntry): boolean =>
  history.some((burst) => isSame(burst, entry) && isNear(burst, entry.at, burstMs));

/** The same whatever the order of the entries, as long as nothing must be dropped. */
export function withEntry(history: NodeHistory, { at, ...key }: HistoryEntry): NodeHistory {
  const joined = history.filter((burst) => isSame(burst, key) && isNear(burst, at, burstMs));
  const burst = {
    ...key,
    first: Math.min(at, ...joined.map(({ first }) => first)),
    last: Math.max(at, ...joined.map(({ last }) => last)),
  };
  const [known] = joined;
  // The usual case in a storm.
  if (joined.length === 1 && known && at >= known.first) return history.map((one) => (one === known ? burst : one));
  const others = history.filter((one) => !joined.includes(one));
  const ofKey = [...others.filter((one) => isSame(one, key)), burst].toSorted(byTime);
  const kept = ofKey.length > most.perKey ? merged(ofKey, most.coarseMs).map((span) => ({ ...key, ...span })) : ofKey;
  const all = [...others.filter((one) => !isSame(one, key)), ...kept.slice(-most.perKey)].toSorted(inOrder);
  return bounded(all);
}

/** What a program can cause, or others than the node report, is dropped first, the oldest of it, so that one that crashes again and again erases no count of the hardware's faults. */
function bounded(all: NodeHistory): NodeHistory {
  const excess = all.length - most.total;
  if (excess <= 0) return all;
  const dropped = new Set([...all.filter(isMinor), ...all.filter((burst) => !isMinor(burst))].slice(0, excess));
  return all.filter((burst) => !dropped.has(burst));
}

const isMinor = ({ action, explained, untrusted }: Burst): boolean =>
  explained === true || untrusted === true || action === 'ignore' || action === 'restart-app';

/** The bursts that rules count. */
export const trusted = (history: NodeHistory): NodeHistory => history.filter((burst) => burst.untrusted === undefined);

export const since = (history: NodeHistory, time: number): NodeHistory => history.filter(({ last }) => last >= time);

/** Bursts with at most `gapMs` between them as one, oldest first. */
export function merged(bursts: readonly Span[], gapMs: number): Span[] {
  const spans: Span[] = [];
  for (const { first, last } of bursts.toSorted(byTime)) {
    const before = spans.at(-1);
    if (before !== undefined && first - before.last <= gapMs)
      spans[spans.length - 1] = { first: before.first, last: Math.max(before.last, last) };
    else spans.push({ first, last });
  }
  return spans;
}

const byTime = (a: Span, b: Span): number => a.first - b.first || a.last - b.last;

/** Bursts that began at the same moment have an order too, whatever the order of their faults. */
const inOrder = (a: Burst, b: Burst): number => a.first - b.first || keyOf(a).localeCompare(keyOf(b));

const keyOf = ({ code, device, place, action, explained, untrusted }: Burst): string =>
  JSON.stringify([code, device, place, action, explained, untrusted]);
