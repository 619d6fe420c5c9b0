/** What faults of one node lead to, in the light of those before: the union of what the settings and the rules say. Pure. */

import type { Fault } from '../../contract/faults/faults.ts';
import { traitsOf } from '../../contract/faults/sources.ts';
import type { Effect, NodeHistory } from '../../contract/node/history.ts';
import type { WorkerSettings } from '../../contract/settings/settings.schema.ts';
import { placeOf } from '../../faults/kernel/place.ts';
import { isRepeated, type HistoryEntry, since, trusted, withEntry } from './history.ts';
import { effectOf, responseTo } from './response.ts';
import { rulesOf } from './rules/index.ts';
import { causeOf } from './rules/consequence.ts';
import { type CountingRule, applies } from './rules/counting.ts';
import { type CancelRule, isCode, matches, type Rule } from './rules/rule.ts';
import { whySuppressed } from './suppression.ts';

export interface Verdict {
  readonly fault: Fault;
  /** When it happened, ms; never later than now. */
  readonly at: number;
  /** All of them apply; none: it is only recorded. */
  readonly effects: readonly Effect[];
  /** Names of the rules that applied. */
  readonly rules: readonly string[];
  /** What rules and suppressions say; empty where the code alone decides. */
  readonly because: readonly string[];
  /** It takes back what earlier faults lead to. */
  readonly cancels?: true;
  /** One more line of a burst that is known. */
  readonly repeated: boolean;
}

export interface Judged {
  /** In the order in which the faults happened. */
  readonly verdicts: readonly Verdict[];
  readonly history: NodeHistory;
}

export interface Known {
  readonly history: NodeHistory;
  readonly now: number;
  /** The faults were judged before, and are in the history: what still follows from them? */
  readonly again: boolean;
}

type Judging = Known & {
  readonly settings: WorkerSettings;
  readonly rules: readonly Rule[];
  readonly batch: readonly HistoryEntry[];
};

export function judgeFaults(faults: readonly Fault[], known: Known, settings: WorkerSettings): Judged {
  const rules = rulesOf(settings.faults);
  const inOrder = faults
    .map((fault) => ({
      fault,
      entry: entryOf(fault, known.now),
      suppression: whySuppressed(fault, settings.faults.suppressions, known.now),
    }))
    .toSorted(byTime);
  const batch = inOrder
    .filter(({ entry, suppression }) => suppression === undefined && !entry.untrusted)
    .map(({ entry }) => entry);
  const judging = { ...known, settings, rules, batch };
  let history = since(known.history, known.now - longestOf(rules));
  let verdicts: readonly Verdict[] = [];
  for (const one of inOrder) {
    const found = judgeOne(one, history, judging);
    const cancelling = cancelsOf(one, history, rules);
    verdicts = [
      ...verdicts.map((verdict) => takenBack(verdict, one, cancelling)),
      withCancels(found.verdict, cancelling),
    ];
    history = found.history;
  }
  return { verdicts, history };
}

interface Arrived {
  readonly fault: Fault;
  readonly entry: HistoryEntry;
  readonly suppression: string | undefined;
}

function judgeOne(
  { fault, entry, suppression }: Arrived,
  before: NodeHistory,
  judging: Judging,
): { readonly verdict: Verdict; readonly history: NodeHistory } {
  const why =
    suppression === undefined
      ? causeOf(fault, entry, trusted(before), judging)
      : { name: 'suppression', because: suppression };
  const kept: HistoryEntry = why ? { ...entry, explained: true } : entry;
  const repeated = !judging.again && isRepeated(before, kept);
  const history = withEntry(before, kept);
  const about = { fault, at: entry.at, repeated };
  if (why) return { verdict: { ...about, effects: [], rules: [why.name], because: [why.because] }, history };
  const applied = judging.rules.filter(
    (rule) =>
      isCounting(rule) &&
      !entry.untrusted &&
      applies(rule, entry, trusted(history), judging.again ? undefined : trusted(before)),
  );
  const effects = [
    ...ownEffects(fault, repeated, judging.settings),
    ...applied.flatMap((rule) => (isCounting(rule) ? rule.effects : [])),
  ];
  return {
    verdict: {
      ...about,
      effects: [...new Set(effects)],
      rules: applied.map(({ name }) => name),
      because: applied.map(({ because }) => because),
    },
    history,
  };
}

const isCounting = (rule: Rule): rule is CountingRule =>
  (rule.kind === 'repeat' || rule.kind === 'lasting') && rule.effects.length > 0;

/** A kernel line that the driver repeats warns, and restarts jobs, once. */
function ownEffects(fault: Fault, repeated: boolean, settings: WorkerSettings): readonly Effect[] {
  const own = effectOf[responseTo(fault, settings)];
  const isNoise = repeated && traitsOf(fault.source).hasPosition === true && own !== 'quarantine' && own !== 'ask';
  return own === undefined || isNoise ? [] : [own];
}

/** The rules by which the fault takes back what is remembered of its device. */
function cancelsOf(
  { entry, suppression }: Arrived,
  history: NodeHistory,
  rules: readonly Rule[],
): readonly CancelRule[] {
  const { device, untrusted } = entry;
  if (device === undefined || untrusted || suppression !== undefined) return [];
  return rules
    .filter((rule) => rule.kind === 'cancel')
    .filter(
      ({ of, cancels }) =>
        matches(of, entry) &&
        history.some(
          (burst) => burst.device === device && !matches(of, burst) && cancels.some((one) => isCode(one, burst.code)),
        ),
    );
}

function takenBack(verdict: Verdict, by: Arrived, rules: readonly CancelRule[]): Verdict {
  const { device, code } = verdict.fault;
  const rule = rules.find(({ of, cancels }) => !matches(of, verdict.fault) && cancels.some((one) => isCode(one, code)));
  if (rule === undefined || device !== by.entry.device || verdict.effects.length === 0) return verdict;
  return { ...verdict, effects: [], rules: [...verdict.rules, rule.name], because: [rule.because] };
}

const withCancels = (verdict: Verdict, rules: readonly CancelRule[]): Verdict =>
  rules.length === 0
    ? verdict
    : {
        ...verdict,
        cancels: true,
        rules: [...verdict.rules, ...rules.map(({ name }) => name)],
        because: [...verdict.because, ...rules.map(({ because }) => because)],
      };

function entryOf(fault: Fault, now: number): HistoryEntry {
  const place = placeOf(fault);
  return {
    code: fault.code,
    ...(fault.device !== undefined && { device: fault.device }),
    ...(place !== undefined && { place }),
    ...(fault.action !== undefined && { action: fault.action }),
    ...(fault.untrusted && { untrusted: true as const }),
    at: Math.min(Date.parse(fault.seenAt), now),
  };
}

const byTime = (a: Arrived, b: Arrived): number =>
  a.entry.at - b.entry.at ||
  (a.fault.kernel?.sequence ?? 0) - (b.fault.kernel?.sequence ?? 0) ||
  a.fault.id.localeCompare(b.fault.id);

/** Nothing older matters to any rule, ms. */
const longestOf = (rules: readonly Rule[]): number =>
  Math.max(
    0,
    ...rules.map((rule) =>
      rule.kind === 'repeat' || rule.kind === 'consequence'
        ? rule.within
        : rule.kind === 'lasting'
          ? rule.atLeast + rule.gap
          : 0,
    ),
  );

/** How long from now a rule may still count what is remembered, ms. */
export function countedFor(history: NodeHistory, now: number, { faults }: Pick<WorkerSettings, 'faults'>): number {
  const ends = rulesOf(faults).flatMap((rule) => {
    if (!isCounting(rule) || (rule.kind === 'repeat' && rule.count === 1)) return [];
    const after = rule.kind === 'repeat' ? rule.within : rule.gap;
    return trusted(history).flatMap((burst) =>
      matches(rule.of, burst) && !burst.explained ? [burst.last + after - now] : [],
    );
  });
  return Math.min(faults.remember, Math.max(0, ...ends));
}
