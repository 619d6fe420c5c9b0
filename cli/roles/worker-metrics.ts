import { Counter, Histogram, type Registry } from 'prom-client';
import type { Meter } from '../../activities/index.ts';
import type { ErrorCode } from '../../contract/errors.ts';
import { metricTable } from '../../contract/metrics/catalogue.ts';
import { outcomes } from '../../contract/recovery/outcomes.ts';
import { remedyOutcomes } from '../../contract/remedy/remedy.ts';

/** Metrics of a worker's activities. `routes`: names of the routes of notifications. */
export function workerMetrics(registry: Registry, routes: readonly string[]): Meter {
  const registers = [registry];
  const table = metricTable.worker;
  const decisions = new Counter({ ...table.decisions, registers });
  const held = new Counter({ ...table.held, registers });
  const quarantines = new Counter({ ...table.quarantines, registers });
  const releases = new Counter({ ...table.releases, registers });
  const stops = new Counter({ ...table.stops, registers });
  const forcedPods = new Counter({ ...table.forced, registers });
  const recoveries = new Counter({ ...table.recoveries, registers });
  const { buckets, ...recoverySeconds } = table.recoverySeconds;
  const durations = new Histogram({ ...recoverySeconds, buckets: [...buckets], registers });
  // From zero on, so that the first of them is an increase.
  for (const outcome of outcomes) recoveries.inc({ outcome }, 0);
  for (const what of ['quarantine', 'recovery']) held.inc({ what }, 0);
  const repairs = new Counter({ ...table.repairs, registers });
  for (const outcome of remedyOutcomes) repairs.inc({ outcome }, 0);
  const stuck = new Counter({ ...table.stuck, registers });
  const notifications = new Counter({ ...table.notifications, registers });
  const notificationFailures = new Counter({ ...table.notificationFailures, registers });
  for (const route of routes)
    for (const code of ['notify.refused', 'notify.unreachable'] satisfies ErrorCode[])
      notificationFailures.inc({ route, code }, 0);
  const failures = new Counter({ ...table.failures, registers });
  return {
    decided: (about, kind) => decisions.inc({ about, kind }),
    held: (what) => held.inc({ what }),
    quarantined: (taint) => quarantines.inc({ taint }),
    released: () => releases.inc(),
    stopped(by, result, forced) {
      stops.inc({ by, result });
      forcedPods.inc(forced);
    },
    ended(outcome, seconds) {
      recoveries.inc({ outcome });
      durations.observe({ outcome }, seconds);
    },
    stuck: () => stuck.inc(),
    repaired: (outcome) => repairs.inc({ outcome }),
    notified: (route) => notifications.inc({ route }),
    notNotified: (route, code) => notificationFailures.inc({ route, code }),
    failed: (activity, code) => failures.inc({ activity, code }),
  };
}
