/** What faults of one node lead to, in the light of those before: the union of what the settings and the rules say. Pure. */

import type { Fault } from '../../contract/faults/faults.ts';
import { traitsOf } from '../../contract/faults/sources.ts';
import type { Effect, NodeHistory } from '../../contract/node/history.ts';
import type { WorkerSettings } from '../../contract/settings/settings.schema.ts';
import { placeOf } from '../../faults/kernel/place.ts';
import { isRepeated, type Sighting, since, withSighting } from './history.ts';
import { effectOf, responseTo, strengthOf } from './response.ts';
import { applies } from './rules/counting.ts';
import { rulesOf } from './rules/index.ts';
import { type ConsequenceRule, isCode, matches, type Rule } from './rules/rule.ts';
import { whySilent } from './silence.ts';

export interface Verdict {
  readonly fault: Fault;
  /** When it happened, ms; never later than now. */
  readonly at: number;
  /** All of them apply; none: it is only recorded. */
  readonly effects: readonly Effect[];
  /** Names of the rules that applied. */
  readonly rules: readonly string[];
  /** What rules and silences say; empty where the code alone decides. */
  readonly because: readonly string[];
  /** One more line of a burst that is known. */
  readonly repeated: boolean;
}

export interface Judged {
  /** In the order in which the faults happened. */
  readonly verdicts: readonly Verdict[];
  readonly history: NodeHistory;
  /** A fault took back what earlier ones lead to. */
  readonly cancels: boolean;
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
  readonly batch: readonly Sighting[];
};

export function judgeFaults(faults: readonly Fault[], known: Known, settings: WorkerSettings): Judged {
  const rules = rulesOf(settings.faults);
  const inOrder = faults.map((fault) => ({ fault, sighting: sightingOf(fault, known.now) })).toSorted(byTime);
  const judging = { ...known, settings, rules, batch: inOrder.map(({ sighting }) => sighting) };
  let history = since(known.history, known.now - longestOf(rules));
  let verdicts: readonly Verdict[] = [];
  let cancels = false;
  for (const { fault, sighting } of inOrder) {
    const why = whySilent(fault, settings.faults.silences, known.now);
    if (why !== undefined) {
      verdicts = [...verdicts, { fault, at: sighting.at, effects: [], rules: [], because: [why], repeated: false }];
      continue;
    }
    const found = judgeOne(fault, sighting, history, judging);
    history = found.history;
    for (const rule of rules) {
      if (rule.kind !== 'cancel' || !matches(rule.of, sighting)) continue;
      verdicts = verdicts.map((one) => takenBack(one, fault, rule));
      cancels = true;
    }
    verdicts = [...verdicts, found.verdict];
  }
  return { verdicts, history, cancels };
}

function judgeOne(
  fault: Fault,
  sighting: Sighting,
  before: NodeHistory,
  judging: Judging,
): { readonly verdict: Verdict; readonly history: NodeHistory } {
  const { settings, rules, again } = judging;
  const cause = rules.find(
    (rule) => rule.kind === 'consequence' && isConsequence(rule, fault, sighting, before, judging),
  );
  const kept: Sighting = cause ? { ...sighting, explained: true } : sighting;
  const repeated = !again && isRepeated(before, kept);
  const history = withSighting(before, kept);
  const about = { fault, at: sighting.at, repeated };
  if (cause) return { verdict: { ...about, effects: [], rules: [cause.name], because: [cause.because] }, history };

  const applied = rules.filter(
    (rule) =>
      (rule.kind === 'repeat' || rule.kind === 'lasting') &&
      applies(rule, sighting, history, again ? undefined : before) &&
      rule.effects.length > 0,
  );
  // A kernel line that a driver repeats warns, and restarts jobs, once.
  const isNoise = repeated && traitsOf(fault.source).hasPosition === true;
  const own = effectOf[responseTo(fault, settings)];
  const effects = [
    ...(own === undefined || (isNoise && own !== 'quarantine' && own !== 'ask') ? [] : [own]),
    ...applied.flatMap((rule) => ('effects' in rule ? rule.effects : [])),
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

/** A fault with a response of its own in the settings, or a stronger one than its cause, is never explained away. */
function isConsequence(
  { of, causes, on, within }: ConsequenceRule,
  fault: Fault,
  sighting: Sighting,
  history: NodeHistory,
  { settings, batch }: Judging,
): boolean {
  if (!matches(of, sighting) || settings.faults.codes[fault.code] !== undefined) return false;
  const own = strengthOf(responseTo(fault, settings));
  const { at, code, device } = sighting;
  const inBatch = batch.map(({ at: time, ...key }) => ({ ...key, first: time, last: time }));
  return [...history, ...inBatch].some((cause) => {
    const isThere =
      on === 'node' ||
      (device !== undefined && cause.device !== undefined && (cause.device === device) === (on === 'device'));
    return (
      isThere &&
      cause.code !== code &&
      cause.explained === undefined &&
      matches(causes, cause) &&
      cause.last >= at - within &&
      cause.first <= at + within &&
      strengthOf(responseTo(cause, settings)) >= own
    );
  });
}

function takenBack(
  verdict: Verdict,
  by: Fault,
  { name, cancels, because }: Extract<Rule, { kind: 'cancel' }>,
): Verdict {
  const isMeant =
    by.device !== undefined &&
    verdict.fault.device === by.device &&
    cancels.some((one) => isCode(one, verdict.fault.code));
  if (!isMeant || verdict.effects.length === 0) return verdict;
  return { ...verdict, effects: [], rules: [...verdict.rules, name], because: [because] };
}

function sightingOf(fault: Fault, now: number): Sighting {
  const place = placeOf(fault);
  return {
    code: fault.code,
    ...(fault.device !== undefined && { device: fault.device }),
    ...(place !== undefined && { place }),
    ...(fault.action !== undefined && { action: fault.action }),
    at: Math.min(Date.parse(fault.seenAt), now),
  };
}

const byTime = (a: { fault: Fault; sighting: Sighting }, b: { fault: Fault; sighting: Sighting }): number =>
  a.sighting.at - b.sighting.at ||
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
    if ((rule.kind !== 'repeat' || rule.count === 1) && rule.kind !== 'lasting') return [];
    if (rule.effects.length === 0) return [];
    const after = rule.kind === 'repeat' ? rule.within : rule.gap;
    return history.flatMap((burst) => (matches(rule.of, burst) && !burst.explained ? [burst.last + after - now] : []));
  });
  return Math.min(faults.remember, Math.max(0, ...ends));
}
