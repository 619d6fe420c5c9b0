/** Steps of a recovery in their order, as an onlooker sees them. */

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
export type Step = (typeof steps)[number];

const withinMs = 120_000;

/** Returns what resolves in the moment in which a step is seen; to be asked before anything breaks. */
export async function lookout(live: LiveKcover, job: LiveJob, node: SimulatedNode): Promise<(step: Step) => Promise<void>> {
  const { chronicle } = live;
  const first = new Set(job.first.map(({ metadata }) => metadata?.uid ?? ''));
  const before = { records: live.records(job).length, node: await live.markOf(nodeWorkflowId(node.name)) };
  const pods = () => chronicle.podsOf(job);
  const stopped = () => pods().some(({ uid, gone }) => first.has(uid) && gone !== undefined);

  return async (step) => {
    const seen = (isSo: () => boolean) => chronicle.seen(`${step} of ${job.name}`, withinMs, isSo);
    const asked = (isSo: () => boolean | Promise<boolean>) => lookUntil(`${step} of ${job.name}`, isSo);
    switch (step) {
      case 'line written':
        return;
      case 'report accepted':
        return asked(async () => (await live.markOf(nodeWorkflowId(node.name))) !== before.node);
      case 'taint seen':
        return seen(() => chronicle.isQuarantined(node.name));
      case 'recovery exists':
        return asked(() => hasChild(live, jobWorkflowId(job)));
      case 'suspend seen':
        // With two deaths the watch may have been away while it was suspended.
        return seen(() => chronicle.isSuspended(job) || stopped());
      case 'old pods gone':
        return seen(() => pods().every(({ uid, gone }) => !first.has(uid) || gone !== undefined));
      case 'resume seen':
        await seen(() => chronicle.isSuspended(job) || stopped());
        return seen(() => !chronicle.isSuspended(job));
      case 'new pods running':
        return seen(() => pods().filter(({ uid, ready }) => ready && !first.has(uid)).length === job.pods);
      case 'record written':
        return asked(() => live.records(job).length > before.records);
    }
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
