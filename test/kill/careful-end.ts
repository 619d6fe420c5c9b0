/** What a careful recovery must have done, beside what must hold after any incident. */

import type { LiveJob } from '../support/live-kcover.ts';
import { type CarefulStep, type Course, courseOf } from './courses.ts';
import type { Absence, Stage } from './processes.ts';

/** A controller leads again so long after it is ready, at the latest: the Lease of the one that was killed has to run out. */
const leadsAfterMs = 10_000;

/** The final checkpoint reaches its job through all processes but these. */
const isRelay = ({ process }: Absence): boolean => !/^(worker|temporal)/.test(process);

/**
 * Whether a process was away that the word of a final checkpoint passes, while the pods were ending: a controller that leads only after
 * they have gone cannot tell whose word it is. `goneAt`: when the last of them had gone, ms.
 */
const wasCutOff = (absences: readonly Absence[], goneAt: number, terminationMs: number): boolean =>
  absences.some((each) => isRelay(each) && each.from < goneAt + terminationMs && (each.until ?? Infinity) + leadsAfterMs > goneAt - terminationMs);

/** A sentence each; empty when all is well. */
export function wrongCourse({ live, absences }: Stage, job: LiveJob, course: Course): string[] {
  const { steps, podsAfter, options } = courseOf(course);
  const records = live.records(job);
  const [first] = records;
  if (!first) return ['there is no record'];
  const { approvals = [], checkpoints = [], capacity = [], stops, pods, timeline } = first;
  const has = (step: CarefulStep): boolean => steps.includes(step);
  const savings = has('waiting for a checkpoint') || has('dying gasp') ? 1 : 0;
  const asked = timeline.filter(({ what }) => what === 'asked the processes').length;
  const kinds = capacity.map(({ kind }) => kind);
  const isCutOff = has('dying gasp') && wasCutOff(absences, Date.parse(stops[0]?.at ?? ''), (options.terminationSeconds ?? 0) * 1000);
  const wrong = (isSo: boolean, sentence: string): string[] => (isSo ? [sentence] : []);
  return [
    // One that met a new fault leaves the proof to the next.
    ...records.flatMap(({ incident, outcome, because }, index) =>
      outcome === 'recovered' || (outcome === 'restarted' && index < records.length - 1) ? [] : [`${incident} ended ${outcome}: ${because}`],
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
    ...wrong(capacity.length === 0, 'nobody looked for room'),
    ...wrong(has('held for room') && !kinds.includes('hold'), `was not held for room: ${kinds.join(', ')}`),
    ...wrong(has('taking stand-by nodes') && !kinds.includes('spare'), `took no stand-by nodes: ${kinds.join(', ')}`),
    ...wrong(has('giving priority') && !timeline.some(({ what }) => what === 'reshaped'), 'its pods were given no priority'),
    ...wrong(has('shrinking') !== (pods !== undefined), `resized: ${JSON.stringify(pods)}`),
    ...wrong(pods !== undefined && pods.after !== podsAfter, `${pods?.after} pods after, not ${podsAfter}`),
    ...wrong(has('broken pod going') !== (stops[0]?.by === 'pods'), `stopped by ${stops[0]?.by}`),
  ];
}
