import { formatDuration } from '../contract/duration.ts';
import type { WorkerSettings } from '../contract/settings.schema.ts';
import type { Spent } from '../contract/training-job.ts';

type Budget = WorkerSettings['recovery']['budget'];

/** Whether one more recovery may start now, when it may, and why. Times in ms. */
export type BudgetAnswer =
  | { readonly kind: 'free' }
  | { readonly kind: 'back-off'; readonly until: number; readonly because: string }
  | { readonly kind: 'spent'; readonly until: number; readonly because: string };

/** At most so many recoveries in a sliding window, and between two of them a pause that doubles up to a limit. */
export function judgeBudget(spent: readonly Spent[], now: number, budget: Budget): BudgetAnswer {
  const counted = spent.filter((one) => one.startedAt > now - budget.window).toSorted((a, b) => a.startedAt - b.startedAt);
  const [first] = counted;
  if (first !== undefined && counted.length >= budget.recoveries) {
    return {
      kind: 'spent',
      until: first.startedAt + budget.window,
      because: `${counted.length} recoveries in the last ${formatDuration(budget.window)}, and ${budget.recoveries} are allowed`,
    };
  }
  const last = counted.at(-1);
  if (last === undefined) return { kind: 'free' };
  const pause = Math.min(budget.backoff.first * 2 ** (counted.length - 1), budget.backoff.most);
  const until = (last.endedAt ?? last.startedAt) + pause;
  if (until <= now) return { kind: 'free' };
  return { kind: 'back-off', until, because: `recovery ${counted.length} within ${formatDuration(budget.window)}: the next waits ${formatDuration(pause)}` };
}
