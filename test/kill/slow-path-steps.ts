/** Steps of the slow path as an observer sees them: in Temporal's description of the incident, which needs no worker, and in the cluster. */

import { setTimeout as sleep } from 'node:timers/promises';
import { annotations, eventReasons, jobWorkflowId, recoveryWithoutUid, searchAttributes } from '../../contract/ids.ts';
import type { RecoveryPhase } from '../../contract/recovery/recovery.ts';
import { readJob } from '../../testbed/jobs.ts';
import type { SimulatedNode } from '../../testbed/nodes.ts';
import type { LiveJob, LiveKcover } from '../support/live-kcover.ts';
import { type SlowPathStep, type SlowPath, slowPathOf } from './slow-paths.ts';
import { urgent } from './priority.ts';

export interface StepObserver {
  /** Resolves when the step is seen; or a later one, when it was too short to be seen. */
  reached(step: SlowPathStep): Promise<void>;
  /** Whether a later step has been seen, or the incident is over. */
  isPast(step: SlowPathStep): boolean;
  /** Id of the incident, once there is one. */
  readonly incident: string | undefined;
  stop(): void;
}

/** Other scenarios may kill the worker repeatedly, and each new one polls for a minute before anything is late. */
const withinMs = 600_000;
const lookEveryMs = 15;

interface StepContext {
  readonly slowPath: SlowPath;
  readonly broken: SimulatedNode;
  /** The node that becomes a standby node. */
  readonly kept: string | undefined;
}

export function watchSlowPathSteps(
  live: LiveKcover,
  job: LiveJob,
  { slowPath, broken, kept }: StepContext,
): StepObserver {
  const { steps } = slowPathOf(slowPath);
  const phases = new Set<string>();
  const recorded = live.records(job).length;
  const brokenPods = new Set(
    job.first.filter(({ spec }) => spec?.nodeName === broken.name).map(({ metadata }) => metadata?.uid ?? ''),
  );
  let incident: string | undefined;
  let [resized, urged, withoutCapacity, taken] = [false, false, false, false];
  let [over, isOver] = [false, false];

  const inPhase = (one: RecoveryPhase) => () => phases.has(one);
  const isSo = {
    // The other steps of this scenario have phases of their own.
    'asking the processes': inPhase('verifying'),
    'held for capacity': () => withoutCapacity,
    'taking standby nodes': () => taken,
    'waiting for approval': inPhase('waiting for approval'),
    'capturing evidence': inPhase('capturing evidence'),
    'waiting for a checkpoint': inPhase('waiting for a checkpoint'),
    'broken pod going': () =>
      live.recorder.podsOf(job).some(({ uid, ready, gone }) => brokenPods.has(uid) && (!ready || gone !== undefined)),
    'final checkpoint': inPhase('waiting for a checkpoint'),
    'giving priority': () => urged,
    shrinking: () => resized,
    verifying: inPhase('verifying'),
  } as const satisfies Record<SlowPathStep, () => boolean>;

  async function look(): Promise<void> {
    incident ??= await childOf(live, job);
    const now = incident === undefined ? undefined : await phaseOf(live, incident);
    if (now !== undefined) phases.add(now);
    // The transition is short, and under API faults the Event may be lost.
    if (now === 'held' && !withoutCapacity && steps.includes('held for capacity'))
      withoutCapacity = await lacksCapacity(live, job);
    isOver = phases.has('recording') || phases.has('ended') || live.records(job).length > recorded;
    if (taken && !urged) urged = await isUrged(live, job);
    if (withoutCapacity && !taken) taken = await isStandbyInUse(live, incident, kept);
    if (steps.includes('shrinking') && phases.has('waiting for a checkpoint') && !resized)
      resized = await isResized(live, job);
  }

  async function watch(): Promise<void> {
    while (!over) {
      await look().catch(() => undefined);
      await sleep(lookEveryMs);
    }
  }
  void watch();

  return {
    get incident() {
      return incident;
    },
    async reached(step) {
      const deadline = Date.now() + withinMs;
      const from = steps.slice(steps.indexOf(step));
      while (!from.some((each) => isSo[each]()) && !isOver) {
        if (over || Date.now() > deadline)
          throw new Error(`${step} of ${job.name} was not seen; phases: ${[...phases].join(', ') || 'none'}`);
        await sleep(10);
      }
    },
    isPast: (step) => isOver || steps.slice(steps.indexOf(step) + 1).some((each) => isSo[each]()),
    stop: () => void (over = true),
  };
}

/** By the Event, because a recovery is held for other reasons as well. */
const lacksCapacity = async (live: LiveKcover, job: LiveJob): Promise<boolean> =>
  (await live.events(job)).some(
    ({ reason, message = '' }) => reason === eventReasons.recoveryHeld && message.includes('capacity for'),
  );

const isResized = async ({ cluster }: LiveKcover, job: LiveJob): Promise<boolean> =>
  (await readJob(cluster.api, job)).metadata.annotations?.[annotations.podsBefore] !== undefined;

const isUrged = async ({ cluster }: LiveKcover, job: LiveJob): Promise<boolean> =>
  JSON.stringify((await readJob(cluster.api, job)).spec).includes(`"${urgent}"`);

/** Checks the incident, because another one may have taken the node before. */
async function isStandbyInUse(
  { cluster }: LiveKcover,
  incident: string | undefined,
  kept: string | undefined,
): Promise<boolean> {
  if (incident === undefined || kept === undefined) return false;
  return (
    (await cluster.api.core.readNode({ name: kept })).metadata?.annotations?.[annotations.standbyNodeTaken] ===
    recoveryWithoutUid(incident)
  );
}

async function childOf({ temporal }: LiveKcover, job: LiveJob): Promise<string | undefined> {
  const { raw } = await temporal.withDeadline(Date.now() + 3000, () =>
    temporal.workflow.getHandle(jobWorkflowId(job)).describe(),
  );
  return raw.pendingChildren?.[0]?.workflowId ?? undefined;
}

async function phaseOf({ temporal }: LiveKcover, incident: string): Promise<string | undefined> {
  const phase = { name: 'KcoverPhase', type: searchAttributes.KcoverPhase } as const;
  const { typedSearchAttributes } = await temporal.withDeadline(Date.now() + 3000, () =>
    temporal.workflow.getHandle(incident).describe(),
  );
  return typedSearchAttributes.get(phase);
}
