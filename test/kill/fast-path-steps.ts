/** Steps of a recovery in order, as an observer sees them. */

import { setTimeout as sleep } from 'node:timers/promises';
import { jobWorkflowId, nodeWorkflowId } from '../../contract/ids.ts';
import type { SimulatedNode } from '../../testbed/nodes.ts';
import type { LiveJob, LiveKcover } from '../support/live-kcover.ts';

export const steps = [
  'line written',
  'report accepted',
  'taint seen',
  'recovery exists',
  'suspend seen',
  'old pods gone',
  'resume seen',
  'new pods running',
  'record written',
] as const;
export type FastPathStep = (typeof steps)[number];

const withinMs = 120_000;

export interface StepWatch {
  /** Resolves at the moment at which a step is seen. */
  reached(step: FastPathStep): Promise<void>;
  /** Whether a later step has been seen, as far as the running servers can tell. */
  isPast(step: FastPathStep): Promise<boolean>;
}

/** Call it before anything breaks. */
export async function watchFastPathSteps(live: LiveKcover, job: LiveJob, node: SimulatedNode): Promise<StepWatch> {
  const { recorder } = live;
  const first = new Set(job.first.map(({ metadata }) => metadata?.uid ?? ''));
  const before = { records: live.records(job).length, node: await live.revisionOf(nodeWorkflowId(node.name)) };
  const pods = () => recorder.podsOf(job);
  const stopped = () => pods().some(({ uid, gone }) => first.has(uid) && gone !== undefined);

  // With two kills the watch may have been interrupted while the job was suspended.
  const wasSuspended = () => recorder.isSuspended(job) || stopped();
  /** Seen at the moment at which the watch reports them. */
  const watched = {
    'taint seen': () => recorder.isQuarantined(node.name),
    'suspend seen': wasSuspended,
    'old pods gone': () => pods().every(({ uid, gone }) => !first.has(uid) || gone !== undefined),
    'resume seen': () => wasSuspended() && !recorder.isSuspended(job),
    'new pods running': () => pods().filter(({ uid, ready }) => ready && !first.has(uid)).length === job.pods,
  } as const;
  const isRecorded = () => live.records(job).length > before.records;
  const asked = {
    'line written': () => true,
    'report accepted': async () => (await live.revisionOf(nodeWorkflowId(node.name))) !== before.node,
    // A recovery of seconds may be over before a killed Temporal answers again.
    'recovery exists': async () => isRecorded() || hasChild(live, jobWorkflowId(job)),
    'record written': isRecorded,
  } as const;
  const looks: Readonly<Record<FastPathStep, () => boolean | Promise<boolean>>> = { ...watched, ...asked };
  const isWatched = (step: FastPathStep): step is keyof typeof watched => Object.hasOwn(watched, step);

  return {
    async reached(step) {
      if (!isWatched(step)) return lookUntil(`${step} of ${job.name}`, asked[step]);
      if (step === 'resume seen') await recorder.seen(`suspend of ${job.name}`, withinMs, wasSuspended);
      return recorder.seen(`${step} of ${job.name}`, withinMs, watched[step]);
    },
    async isPast(step) {
      const later = steps.slice(steps.indexOf(step) + 1);
      const seen = await Promise.all(later.map((each) => Promise.resolve(looks[each]()).catch(() => false)));
      return seen.includes(true);
    },
  };
}

async function lookUntil(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + withinMs;
  while (!(await Promise.resolve(isSo()).catch(() => false))) {
    if (Date.now() > deadline) throw new Error(`${what} was not seen within ${withinMs / 1000} s`);
    await sleep(10);
  }
}

const hasChild = async (live: LiveKcover, workflowId: string): Promise<boolean> => {
  const { raw } = await live.temporal.workflow.getHandle(workflowId).describe();
  return (raw.pendingChildren ?? []).length > 0;
};
