/** The tools of a recovery that is only planned: decisions are those of the policy, answers of the cluster are assumed, and named. */

import { KcoverError } from '../../contract/errors.ts';
import type { JobView } from '../../contract/job/jobs.ts';
import type { CapacityDecision, CapacityFacts } from '../../contract/recovery/plan.ts';
import type { AttemptFacts, RecoveryDecision } from '../../contract/recovery/recovery.ts';
import { iso } from '../../contract/settings/duration.ts';
import type { WorkerSettings } from '../../contract/settings/settings.schema.ts';
import { decideCapacity } from '../../policy/capacity/capacity.ts';
import type { Undated } from '../../policy/decision.ts';
import { decideRecovery } from '../../policy/recovery/recovery.ts';
import { openOne } from '../../workflows/recovery/questions.ts';
import type { Running } from '../../workflows/recovery/run-phase.ts';
import type { Phase } from '../../workflows/recovery/state.ts';
import type { RecoveryActivities, Tools } from '../../workflows/recovery/tools.ts';

/** Capacity for some pods, by UID, or for all of the job; undefined when it is not known. */
export type CapacityLook = (
  pods: readonly string[] | undefined,
  attempt: StartingPoint['attempt'],
) => Promise<CapacityFacts | undefined>;

/** What the plan starts from. */
export interface StartingPoint {
  readonly attempt: AttemptFacts & { readonly job: JobView };
  readonly settings: WorkerSettings;
  /** ms */
  readonly at: number;
  readonly look: CapacityLook;
}

/** What was decided last, and all that was assumed, each once. */
export interface Notes {
  recovery?: Undated<RecoveryDecision>;
  capacity?: Undated<CapacityDecision>;
  readonly assumed: Set<string>;
}

/** No time passes but in the level `process`: every other answer is taken to come at once. */
export function assumedTools(start: StartingPoint, notes: Notes, running: () => Running): Tools {
  const { settings } = start;
  const clock = { now: start.at };
  const assume = (what: string): void => void notes.assumed.add(what);
  const answers = answersOf(start, clock, assume, () => running().state.phase);
  const date = () => ({ settings: '', at: clock.now });
  return {
    now: () => clock.now,
    perform: (name, _summary, request) => {
      const answer = answers[name] as (asked: typeof request) => ReturnType<RecoveryActivities[typeof name]>;
      return answer(request);
    },
    tolerate: (work) =>
      work.catch((error: unknown) => {
        if (error instanceof KcoverError) return undefined;
        throw error;
      }),
    decideRecovery: async (facts) => ({ ...(notes.recovery = decideRecovery(facts, settings)), ...date() }),
    decideCapacity: async (request) => ({ ...(notes.capacity = decideCapacity(request, settings)), ...date() }),
    wait: async () => {
      const { state, dispatch } = running();
      if (!openOne(state.questions)) return false;
      assume('a person approves');
      dispatch({ kind: 'questionAnswered', given: { approved: true, by: 'a person', reason: 'assumed' } });
      return true;
    },
    unlessChanged: (_hasChanged, work) => work(),
    alongside: (work) => work(),
    signal: async () => undefined,
    allAnnounced: async () => undefined,
  };
}

function answersOf(
  { attempt, look }: StartingPoint,
  clock: { now: number },
  assume: (what: string) => void,
  phase: () => Phase,
): RecoveryActivities {
  const { pods, terminating = [], more } = attempt;
  const { podsExpected } = attempt.job;
  let looks = 0;
  let standbyTaken = false;
  return {
    observeAttempt: async () => ({ ...attempt, at: clock.now }),
    listPods: async () => ({ pods, terminating, digest: more?.digest ?? '' }),
    captureEvidence: async ({ attempt: number, pods: { length } }) => {
      assume('the evidence can be captured');
      return { address: '', attempt: number, ranks: length, of: length, files: length, bytes: 0, digest: '' };
    },
    awaitCheckpoint: async ({ atLeast: checkpointStep }) => {
      assume('the checkpoint is saved in time');
      return { kind: 'saved', checkpointStep, waitedMs: 0, because: 'assumed' };
    },
    observeCapacity: async ({ pods: broken }) => {
      const found = (await look(broken, attempt)) ?? (looks === 0 && capacityFor(broken?.length ?? podsExpected));
      looks += 1;
      if (!found) throw new KcoverError('usage', 'this capacity was not looked up');
      if (found.because === notLookedUp) assume(`there is capacity for ${found.needed} pods: it was ${notLookedUp}`);
      // Standby nodes that were taken count from then on.
      return standbyTaken ? { ...found, fit: Math.max(found.fit, found.fitWithStandby) } : found;
    },
    joinWave: async () => {
      assume('this recovery fits into the present wave');
      return { granted: true, wave: 1 };
    },
    takeStandbyNodes: async ({ nodes }) => {
      assume('the standby nodes are free until they are taken');
      standbyTaken = true;
      return { taken: nodes };
    },
    stopAttempt: async () => {
      assume('the stop succeeds: all its pods are gone within their grace period');
      return { kind: 'stopped', at: iso(clock.now), requests: 1 };
    },
    resizeJob: async ({ pods: after = podsExpected }) => ({ kind: 'resized', before: podsExpected, after }),
    resumeJob: async () => ({ resumed: true }),
    awaitAttempt: async () => {
      assume('all pods of the next attempt become ready in time');
      return { kind: 'running', at: iso(clock.now), pods, startedAt: iso(clock.now), misplaced: 0 };
    },
    askProcesses: async () => undefined,
    verifyProgress: async ({ beyond, mostMs }) => {
      if (phase() === 'verifying') {
        assume(`training passes step ${beyond} in time`);
        return { kind: 'verified', progress: { step: beyond + 1, at: iso(clock.now) }, because: 'assumed' };
      }
      assume('training does not go on inside its processes');
      clock.now += mostMs;
      return { kind: 'unverified', because: 'this is assumed, to show what follows' };
    },
    recordIncident: async () => ({ address: '' }),
  };
}

const notLookedUp = 'not looked up';
const capacityFor = (needed: number): CapacityFacts => ({
  needed,
  fit: needed,
  fitWithStandby: needed,
  standbyNodes: [],
  because: notLookedUp,
});
