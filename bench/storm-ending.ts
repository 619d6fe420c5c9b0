/** The result of a storm for one job and its node, as reported by their workflows. */

import { statusQuery } from '../contract/wire/messages.ts';
import type { NodeStatus } from '../contract/node/nodes.ts';
import type { RecoveryStatus } from '../contract/recovery/recovery.ts';
import type { JobStatus } from '../contract/job/training-job.ts';
import { until } from '../testbed/until.ts';
import { historyLength } from './histories.ts';
import type { BenchStage } from './stage.ts';
import type { StormPlan } from './storm-plan.ts';
import { type AffectedJob, workflowIdsOf } from './storm-jobs.ts';

export interface StormEnding {
  /** `held`: nothing was done to it, with a reason. `lost`: none of the expected results. */
  readonly job: 'restarted' | 'held' | 'lost';
  readonly node?: NodeStatus['phase'];
  /** The reason, for a held or lost job and for a held node. */
  readonly because?: string;
  readonly events: { readonly job: number; readonly recovery: number; readonly node: number };
}

/** By now everything has happened; a workflow may still be writing its record. */
const settleMs = 60_000;

type Words = Pick<StormEnding, 'job' | 'node' | 'because'>;

export async function endingOf(
  { client }: BenchStage,
  { hits, limit }: StormPlan,
  affectedJob: AffectedJob,
): Promise<StormEnding> {
  const ids = workflowIdsOf(affectedJob);
  const ask = <Status>(workflowId: string): Promise<Status> =>
    client.workflow.getHandle(workflowId).query<Status>(statusQuery);
  let incident: string | undefined;

  const words = await until(
    `the end of ${affectedJob.job.name}`,
    settleMs,
    async (): Promise<{ found: Words } | { missing: string }> => {
      const job = await ask<JobStatus>(ids.job);
      const node = hits === 'nodes' ? await ask<NodeStatus>(ids.node) : undefined;
      incident = job.last?.incident ?? job.incident;
      const said = `${job.phase}: ${job.because}`;
      if (job.phase === 'watching' && job.last) {
        const restarted = job.last.outcome === 'restarted';
        return {
          found: {
            job: restarted ? 'restarted' : 'lost',
            ...(node && { node: node.phase }),
            ...(!restarted && { because: job.last.because }),
          },
        };
      }
      if (limit === 'all' || node?.phase !== 'held' || incident === undefined) return { missing: said };
      const { phase } = await ask<RecoveryStatus>(incident);
      return phase === 'held'
        ? { found: { job: 'held', node: 'held', because: node.because } }
        : { missing: `${said}; its recovery is ${phase}` };
    },
  ).catch((error: unknown): Words => ({
    job: 'lost',
    because: error instanceof Error ? error.message : String(error),
  }));

  const length = (workflowId: string | undefined): Promise<number> =>
    workflowId === undefined ? Promise.resolve(0) : historyLength(client, workflowId).catch(() => 0);
  const events = {
    job: (await length(ids.job)) - affectedJob.eventsBefore,
    recovery: await length(incident),
    node: hits === 'nodes' ? await length(ids.node) : 0,
  };
  return { ...words, events };
}
