/** Expected results of the slow path, in addition to the general invariants. */

import type { LiveJob } from '../support/live-kcover.ts';
import { type SlowPathStep, type SlowPath, slowPathOf } from './slow-paths.ts';
import type { Absence, KillStage } from './processes.ts';

/** Longest time from a ready controller until it leads again: the Lease of the killed one has to expire. */
const leadsAfterMs = 10_000;

/** Processes that relay the report of the final checkpoint to its job: all except these. */
const isRelay = ({ process }: Absence): boolean => !/^(worker|temporal)/.test(process);

/**
 * Whether a process that relays the report of a final checkpoint was down while the pods were ending: a controller that leads only after they have
 * gone cannot attribute the report. `goneAt`: when the last of them had gone, ms.
 */
const wasCutOff = (absences: readonly Absence[], goneAt: number, terminationMs: number): boolean =>
  absences.some(
    (each) =>
      isRelay(each) &&
      each.from < goneAt + terminationMs &&
      (each.until ?? Infinity) + leadsAfterMs > goneAt - terminationMs,
  );

/** One sentence each; empty when all is well. */
export function slowPathViolations({ live, absences }: KillStage, job: LiveJob, slowPath: SlowPath): string[] {
  const { steps, podsAfter, options } = slowPathOf(slowPath);
  const records = live.records(job);
  const [first] = records;
  if (!first) return ['there is no record'];
  const { approvals = [], checkpoints = [], capacity = [], stops, pods, timeline } = first;
  const has = (step: SlowPathStep): boolean => steps.includes(step);
  const savings = has('waiting for a checkpoint') || has('final checkpoint') ? 1 : 0;
  const asked = timeline.filter(({ what }) => what === 'asked the processes').length;
  const kinds = capacity.map(({ kind }) => kind);
  const isCutOff =
    has('final checkpoint') &&
    wasCutOff(absences, Date.parse(stops[0]?.at ?? ''), (options.terminationSeconds ?? 0) * 1000);
  const wrong = (isSo: boolean, sentence: string): string[] => (isSo ? [sentence] : []);
  return [
    // A recovery that met a new fault leaves the verification to the next one.
    ...records.flatMap(({ incident, outcome, because }, index) =>
      outcome === 'recovered' || (outcome === 'restarted' && index < records.length - 1)
        ? []
        : [`${incident} ended ${outcome}: ${because}`],
    ),
    ...wrong(approvals.length !== (has('waiting for approval') ? 1 : 0), `${approvals.length} answers`),
    ...wrong(
      approvals.some(({ approved }) => !approved),
      `answers: ${JSON.stringify(approvals)}`,
    ),
    ...wrong(asked !== (has('asking the processes') ? 1 : 0), `its processes were asked ${asked} times`),
    ...wrong(checkpoints.length !== savings, `${checkpoints.length} checkpoints`),
    ...wrong(
      checkpoints.some(({ kind }) => kind !== 'saved' && !(isCutOff && kind === 'missed')),
      `checkpoints: ${JSON.stringify(checkpoints)}; away: ${JSON.stringify(absences)}`,
    ),
    ...wrong(capacity.length === 0, 'no capacity was looked up'),
    ...wrong(has('held for capacity') && !kinds.includes('hold'), `was not held for capacity: ${kinds.join(', ')}`),
    ...wrong(has('taking standby nodes') && !kinds.includes('standby'), `took no standby nodes: ${kinds.join(', ')}`),
    ...wrong(
      has('giving priority') && !timeline.some(({ what }) => what === 'resized'),
      'its pods were given no priority',
    ),
    ...wrong(has('shrinking') !== (pods !== undefined), `resized: ${JSON.stringify(pods)}`),
    ...wrong(pods !== undefined && pods.after !== podsAfter, `${pods?.after} pods after, not ${podsAfter}`),
    ...wrong(has('broken pod going') !== (stops[0]?.by === 'pods'), `stopped by ${stops[0]?.by}`),
  ];
}
