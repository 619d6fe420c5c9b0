/** Replays the arrival of reports by the collecting rules of a version of the reference project, with one outcome for every step. */

import type {
  PreflightJudgement,
  PreflightReport,
  PreflightRule,
  ReportField,
} from '../../contract/preflight/preflight.ts';
import { readReport, reportProfiles } from '../../faults/preflight/report.ts';
import {
  type CollectionOutcome,
  type Collecting,
  collecting,
  type CollectingProfile,
  type Collection,
} from './collecting.ts';
import { judgeStatistical } from './statistical.ts';
import { judgeStrict } from './strict.ts';
import type { Vector, VectorStep } from './vector.ts';

/** A set that expired. */
export interface Expiry {
  readonly namespace: string;
  readonly workload: string;
  readonly received: number;
  readonly expected: number;
  readonly reportedNodes: readonly string[];
}

/** Findings so far, names sorted. Under the rule `strict` only `abnormalNodes`, and only for a complete set. */
export interface ReplayFindings {
  /** Failed and slow nodes; the address where its node is unknown. */
  readonly abnormalNodes: readonly string[];
  readonly undetermined?: readonly string[];
  readonly confidence?: number;
}

/** Result of one step. A report that finds a set expired and opens the next is `waiting` with `expired`. */
export type StepOutcome =
  | ({ readonly outcome: 'waiting'; readonly expired?: readonly Expiry[] } & Partial<ReplayFindings>)
  | ({ readonly outcome: 'ready' } & ReplayFindings)
  | { readonly outcome: 'error'; readonly errorField: ReportField }
  | ({ readonly outcome: 'timeout' | 'swept'; readonly expired: readonly Expiry[] } & Partial<ReplayFindings>);

export interface ReplayRules {
  readonly rule: PreflightRule;
  readonly profile: CollectingProfile;
}

/**
 * Under `strict` as that version would answer. Under `statistical` sets open and end in the same way, and every step with evidence has the
 * findings of the rule: for an incomplete set so far, for an expired one for the last time.
 */
export function replayVector(
  { timeoutSeconds, reports }: Vector,
  { rule, profile }: ReplayRules,
): { readonly steps: readonly StepOutcome[] } {
  const sets = collecting(profile, timeoutSeconds);
  const judge = judgeOf(rule, profile);
  let at = 0;
  const steps = reports.map((step): StepOutcome => {
    at = step.at ?? at;
    return step.sweep === true
      ? swept(sets.sweep(microseconds(at)), judge)
      : received(step, at, { sets, judge, profile });
  });
  return { steps };
}

const microseconds = (seconds: number): number => Math.round(seconds * 1_000_000);

interface Replay {
  readonly sets: Collecting;
  readonly judge: Judge;
  readonly profile: CollectingProfile;
}

function received(step: VectorStep, at: number, { sets, judge, profile }: Replay): StepOutcome {
  const { namespace = 'train', workload = 'job-a' } = step;
  const { workloadUID: uid = `uid-${workload}`, observedAt = at } = step;
  if (namespace === '' || workload === '' || uid === '') return { outcome: 'error', errorField: 'workload_name' };
  const read = readReport(step.reportText ?? step.report, reportProfiles[profile]);
  if (read.kind === 'problem') return { outcome: 'error', errorField: read.field };
  const collected = sets.arrive(
    { namespace, workload, uid, report: read.report, observedAt: microseconds(observedAt) },
    microseconds(at),
  );
  return outcomeOf(collected, judge);
}

function outcomeOf(collected: CollectionOutcome, judge: Judge): StepOutcome {
  switch (collected.outcome) {
    case 'refused':
      return { outcome: 'error', errorField: 'layout' };
    case 'ready':
      return { outcome: 'ready', ...judge.complete(collected.complete) };
    case 'timeout':
      return { outcome: 'timeout', expired: collected.expired.map(expiryOf), ...judge.incomplete(collected.expired) };
    case 'waiting':
      return {
        outcome: 'waiting',
        ...(collected.expired.length > 0 && { expired: collected.expired.map(expiryOf) }),
        ...judge.incomplete([collected.open]),
      };
  }
}

const swept = (expired: readonly Collection[], judge: Judge): StepOutcome => ({
  outcome: 'swept',
  expired: expired.map(expiryOf),
  ...judge.incomplete(expired),
});

const expiryOf = ({ namespace, workload, size, entries }: Collection): Expiry => ({
  namespace,
  workload,
  received: entries.size,
  expected: size,
  reportedNodes: [...entries.keys()].toSorted(),
});

interface Judge {
  readonly complete: (set: Collection) => ReplayFindings;
  readonly incomplete: (sets: readonly Collection[]) => Partial<ReplayFindings>;
}

function judgeOf(rule: PreflightRule, profile: CollectingProfile): Judge {
  const { threshold } = reportProfiles[profile];
  const judged = (
    set: Collection,
    by: (reports: readonly PreflightReport[], basis: { size: number; threshold: number }) => PreflightJudgement,
  ): PreflightJudgement =>
    by(
      [...set.entries.values()].map(({ report }) => report),
      { size: set.size, threshold },
    );
  if (rule === 'strict')
    return { complete: (set) => ({ abnormalNodes: abnormal([judged(set, judgeStrict)]) }), incomplete: () => ({}) };
  const all = (sets: readonly Collection[]): ReplayFindings =>
    foundBy(sets.map((set) => judged(set, judgeStatistical)));
  return { complete: (set) => all([set]), incomplete: (sets) => (sets.length === 0 ? {} : all(sets)) };
}

const namesWith = (judgements: readonly PreflightJudgement[], ...verdicts: readonly string[]): readonly string[] =>
  [
    ...new Set(
      judgements.flatMap(({ nodes }) =>
        nodes.filter(({ verdict }) => verdicts.includes(verdict)).map(({ node }) => node),
      ),
    ),
  ].toSorted();

const abnormal = (judgements: readonly PreflightJudgement[]): readonly string[] =>
  namesWith(judgements, 'failed', 'slow');

const foundBy = (judgements: readonly PreflightJudgement[]): ReplayFindings => ({
  abnormalNodes: abnormal(judgements),
  undetermined: namesWith(judgements, 'undetermined'),
  confidence: Math.min(...judgements.map(({ confidence }) => confidence)),
});
