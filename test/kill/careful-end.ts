/** What a careful recovery must have done, beside what must hold after any incident. */

import type { LiveJob, LiveKcover } from '../support/live-kcover.ts';
import { type Course, courseOf } from './courses.ts';

/** A sentence each; empty when all is well. */
export function wrongCourse(live: LiveKcover, job: LiveJob, course: Course): string[] {
  const { steps, podsAfter } = courseOf(course);
  const records = live.records(job);
  const [first] = records;
  if (!first) return ['there is no record'];
  const { approvals = [], checkpoints = [], capacity = [], stops, pods } = first;
  // A leader that came after the pods had gone cannot know whose last words these are, and believes nobody.
  const mayMiss = steps.includes('dying gasp') && checkpoints[0]?.kind === 'missed';
  const wrong = (isSo: boolean, sentence: string): string[] => (isSo ? [sentence] : []);
  return [
    // One that met a new fault leaves the proof to the next.
    ...records.flatMap(({ incident, outcome, because }, index) =>
      outcome === 'recovered' || (outcome === 'restarted' && index < records.length - 1) ? [] : [`${incident} ended ${outcome}: ${because}`],
    ),
    ...wrong(approvals.length !== 1 || approvals[0]?.approved !== true, `answers: ${JSON.stringify(approvals)}`),
    ...wrong(checkpoints.length !== 1 || !(checkpoints[0]?.kind === 'saved' || mayMiss), `checkpoints: ${JSON.stringify(checkpoints)}`),
    ...wrong(capacity.length === 0, 'nobody looked for room'),
    ...wrong(steps.includes('shrinking') !== (pods !== undefined), `resized: ${JSON.stringify(pods)}`),
    ...wrong(pods !== undefined && pods.after !== podsAfter, `${pods?.after} pods after, not ${podsAfter}`),
    ...wrong(steps.includes('broken pod going') !== (stops[0]?.by === 'pods'), `stopped by ${stops[0]?.by}`),
  ];
}
