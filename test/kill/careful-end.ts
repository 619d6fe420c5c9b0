/** What a careful recovery must have done, beside what must hold after any incident. */

import type { LiveJob, LiveKcover } from '../support/live-kcover.ts';
import { type CarefulStep, type Course, courseOf } from './courses.ts';
import type { Victim } from './processes.ts';
import type { Kill } from './story.ts';

/** What a trainer's last words pass on their way to the job, or what they are read from. Who comes after the pods had gone cannot know whose they are. */
const relays: readonly Victim[] = ['controller', 'agent', 'API server', 'etcd'];

/** A sentence each; empty when all is well. */
export function wrongCourse(live: LiveKcover, job: LiveJob, course: Course, kills: readonly Kill[]): string[] {
  const { steps, podsAfter } = courseOf(course);
  const records = live.records(job);
  const [first] = records;
  if (!first) return ['there is no record'];
  const { approvals = [], checkpoints = [], capacity = [], stops, pods, timeline } = first;
  const has = (step: CarefulStep): boolean => steps.includes(step);
  const savings = has('waiting for a checkpoint') || has('dying gasp') ? 1 : 0;
  const asked = timeline.filter(({ what }) => what === 'asked the processes').length;
  const kinds = capacity.map(({ kind }) => kind);
  const [gasp, at] = [steps.indexOf('dying gasp'), ({ step }: Kill) => steps.indexOf(step as CarefulStep)];
  const relayDied = kills.some((kill) => relays.includes(kill.victim) && at(kill) <= gasp);
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
      checkpoints.some(({ kind }) => kind !== 'saved' && !(relayDied && kind === 'missed')),
      `checkpoints: ${JSON.stringify(checkpoints)}`,
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
