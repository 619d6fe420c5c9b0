import { formatDuration } from '../../contract/settings/duration.ts';
import { type Blame, blames } from '../../contract/faults/faults.ts';
import type { JobProgress } from '../../contract/progress/progress.ts';
import type { WorkerSettings } from '../../contract/settings/settings.schema.ts';
import type { BudgetEntry } from '../../contract/job/training-job.ts';

type Budget = WorkerSettings['recovery']['budget'];

/** What `judgeBudget` decides from. */
export interface BudgetFacts {
  readonly usage: readonly BudgetEntry[];
  /** Which budget category is asked for. */
  readonly blame: Blame;
  /** How far training is now, where the job reports it. */
  readonly progress?: JobProgress | undefined;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** Whether one more recovery may start now, or when, and why. Times in ms. */
export type BudgetAnswer =
  | { readonly kind: 'free' }
  | { readonly kind: 'back-off'; readonly until: number; readonly because: string }
  | { readonly kind: 'exhausted'; readonly until: number; readonly because: string };

/** Allowed recoveries of each budget category in the window. */
export const categoryLimits = ({
  hardware,
  platform,
  user,
  unknown,
  recoveries,
}: Budget): Readonly<Record<Blame, number>> => ({
  hardware,
  platform,
  user: user ?? recoveries,
  unknown: unknown ?? recoveries,
});

/**
 * A budget category for each blame: a limit of recoveries in a sliding window, and a back-off between two of them that doubles up to a limit.
 * A job that has used up its recoveries for life, or whose code keeps failing without a newer checkpoint, waits for a person. Categories are independent; a recovery whose blame was not
 * recorded counts in all of them.
 */
export function judgeBudget(facts: BudgetFacts, budget: Budget): BudgetAnswer {
  const { usage, blame, now } = facts;
  const recent = usage
    .filter((one) => one.asked === undefined && one.startedAt > now - budget.window)
    .toSorted((a, b) => a.startedAt - b.startedAt);
  const unblamed = recent.filter((one) => one.blame === undefined);
  const counted = recent.filter((one) => one.blame === undefined || one.blame === blame);
  return (
    usedUp(facts, recent, budget) ??
    crashLoop(facts, recent, budget) ??
    overdrawn(counted, categoryLimits(budget)[blame], words[blame], recent, budget, now) ??
    overdrawn(unblamed, budget.recoveries, 'unrecorded causes', recent, budget, now) ??
    backOff(counted, now, budget)
  );
}

const words = {
  hardware: 'hardware',
  platform: 'the platform',
  user: 'user code',
  unknown: 'unknown causes',
} as const satisfies Record<Blame, string>;

function overdrawn(
  counted: readonly BudgetEntry[],
  limit: number,
  category: string,
  recent: readonly BudgetEntry[],
  budget: Budget,
  now: number,
): BudgetAnswer | undefined {
  const expiring = limit === 0 ? undefined : counted.at(-limit);
  if (expiring === undefined && limit > 0) return undefined;
  const because = `${recoveries(counted.length)} in the last ${formatDuration(budget.window)}, and ${limit} are allowed for ${category}; ${describeUsage(recent, budget)}`;
  return {
    kind: 'exhausted',
    until: expiring ? expiring.startedAt + budget.window : Math.ceil((now + 1) / budget.window) * budget.window,
    because,
  };
}

/** Whether the label may request one more recovery. Recoveries without a recorded cause count here too. */
export function judgeLabel({ usage, now }: Pick<BudgetFacts, 'usage' | 'now'>, budget: Budget): BudgetAnswer {
  const counted = usage
    .filter(
      (one) =>
        one.startedAt > now - budget.window &&
        (one.byLabel === true || (one.asked === undefined && one.blame === undefined)),
    )
    .toSorted((a, b) => a.startedAt - b.startedAt);
  const expiring = counted.at(-budget.label);
  if (expiring === undefined) return { kind: 'free' };
  const because = `${recoveries(counted.length)} in the last ${formatDuration(budget.window)}, and ${budget.label} are allowed by label`;
  return { kind: 'exhausted', until: expiring.startedAt + budget.window, because };
}

function backOff(counted: readonly BudgetEntry[], now: number, budget: Budget): BudgetAnswer {
  const last = counted.at(-1);
  if (last === undefined) return { kind: 'free' };
  const pause = Math.min(budget.backoff.first * 2 ** (counted.length - 1), budget.backoff.most);
  const until = (last.endedAt ?? last.startedAt) + pause;
  if (until <= now) return { kind: 'free' };
  return {
    kind: 'back-off',
    until,
    because: `recovery ${counted.length} within ${formatDuration(budget.window)}: the next waits ${formatDuration(pause)}`,
  };
}

/** A crash loop does not resolve itself: after this time its refusal is reported again. */
const remindMs = 24 * 3_600_000;
/** Older crashes are not part of a crash loop, ms. */
const rowMs = 7 * remindMs;

/** The whole life of a job, as far back as its workflow remembers: 200 recoveries. */
function usedUp({ usage, now }: BudgetFacts, recent: readonly BudgetEntry[], budget: Budget): BudgetAnswer | undefined {
  const counted = usage.filter((one) => one.asked === undefined);
  const last = counted.at(-1);
  if (budget.total === undefined || counted.length < budget.total || last === undefined) return undefined;
  const because = `${recoveries(counted.length)} in the life of the job, and ${budget.total} are allowed; ${describeUsage(recent, budget)}`;
  return { kind: 'exhausted', until: nextReminder(last, now), because };
}

const nextReminder = ({ startedAt }: BudgetEntry, now: number): number =>
  startedAt + remindMs * (Math.floor((now - startedAt) / remindMs) + 1);

function crashLoop(
  { usage, blame, progress, now }: BudgetFacts,
  recent: readonly BudgetEntry[],
  budget: Budget,
): BudgetAnswer | undefined {
  if (blame !== 'user' || progress === undefined) return undefined;
  const row = crashesInARow(usage, progress, now);
  const [last] = row;
  if (last === undefined || row.length < budget.crashLoop) return undefined;
  const until = nextReminder(last, now);
  const stands =
    progress.checkpointStep === undefined
      ? `no step beyond ${progress.step}`
      : `no checkpoint beyond step ${progress.checkpointStep}`;
  const because = `crash loop: ${recoveries(row.length)} in a row for user code and ${stands}; ${budget.crashLoop} are allowed, then a person must decide; ${describeUsage(recent, budget)}`;
  return { kind: 'exhausted', until, because };
}

/** Recoveries of user code since training last advanced, or since a person requested one; newest first. Recoveries with another blame in between are skipped. */
function crashesInARow(usage: readonly BudgetEntry[], progress: JobProgress, now: number): BudgetEntry[] {
  const newestFirst = usage.filter((one) => one.startedAt > now - rowMs).toSorted((a, b) => b.startedAt - a.startedAt);
  const broken = newestFirst.findIndex(
    (one) => one.asked !== undefined || (one.blame === 'user' && hasAdvanced(one, progress)),
  );
  return newestFirst.slice(0, broken === -1 ? undefined : broken).filter((one) => one.blame === 'user');
}

/** Whether training has advanced since the recovery began: by its checkpoints, else by its steps. Where these cannot be compared, it counts as advanced. */
function hasAdvanced(then: BudgetEntry, now: JobProgress): boolean {
  if (then.checkpointStep !== undefined && now.checkpointStep !== undefined)
    return now.checkpointStep > then.checkpointStep;
  if (then.checkpointStep !== undefined || now.checkpointStep !== undefined || then.step === undefined) return true;
  return now.step > then.step;
}

/** `hardware 1 of 20, user 5 of 5`, without unused categories. */
function describeUsage(recent: readonly BudgetEntry[], budget: Budget): string {
  const limits = categoryLimits(budget);
  const parts = blames.map((blame) => ({
    name: `${blame} %s of ${limits[blame]}`,
    count: recent.filter((one) => one.blame === blame).length,
  }));
  const all = [
    ...parts,
    { name: `%s of unknown cause`, count: recent.filter((one) => one.blame === undefined).length },
  ];
  const said = all.filter(({ count }) => count > 0).map(({ name, count }) => name.replace('%s', String(count)));
  return `used: ${said.join(', ') || 'nothing in the window'}`;
}

const recoveries = (count: number): string => `${count} ${count === 1 ? 'recovery' : 'recoveries'}`;
