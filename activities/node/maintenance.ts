/** Activities of a planned maintenance: it gives the orders that a person gives, and finds what it ordered again. */

import { setTimeout as sleep } from 'node:timers/promises';
import { cancellationSignal } from '@temporalio/activity';
import { WorkflowNotFoundError } from '@temporalio/common';
import { KcoverError } from '../../contract/errors.ts';
import { nodeWorkflowId } from '../../contract/ids.ts';
import { jobTitle } from '../../contract/job/jobs.ts';
import type { ReturnResult } from '../../contract/node/maintenance.ts';
import { isQuarantined, type NodeFaults, type NodeStatus } from '../../contract/node/nodes.ts';
import type { Activities } from '../../contract/wire/activities.ts';
import { faultsQuery, type OperatorRequest, signals, statusQuery, updates } from '../../contract/wire/messages.ts';
import { searchAttributePairs } from '../../contract/wire/search-attributes.ts';
import { nodeStart } from '../../contract/wire/starts.ts';
import { readNode } from '../../kube/nodes/nodes.ts';
import { decideNode } from '../../policy/node/node.ts';
import type { Dependencies } from '../dependencies.ts';
import { watchedJobsOn } from '../job/jobs.ts';
import { pauseOfCluster } from '../pause.ts';
import { queryNode } from './queries.ts';

type Maintenance = Pick<Activities, 'observeMaintenance' | 'orderQuarantine' | 'returnNode'>;

/** Jobs that are still there are looked for this often in the lead, within these bounds, ms. */
const looks = { inLead: 60, least: 1000, most: 60_000 } as const;

/** Time-out of one call to Temporal, and of the wait for what an order leads to, ms. */
const timeouts = { call: 5000, effect: 10_000, again: 100 } as const;

export function maintenanceActivities(dependencies: Dependencies): Maintenance {
  const { kube, settings, temporal, now } = dependencies;

  async function hold(): Promise<string | undefined> {
    if (settings.mode === 'observe') return 'mode is observe';
    const paused = await pauseOfCluster(dependencies);
    return paused && `paused by ${paused.by}: ${paused.reason}`;
  }

  const asked = <T>(work: () => Promise<T>): Promise<T> => temporal().withDeadline(Date.now() + timeouts.call, work);
  const statusOf = (node: string): Promise<NodeStatus | undefined> =>
    asked(() => queryNode<NodeStatus>(temporal(), node, statusQuery));

  /** Status of the node once it is as wanted. Throws when that takes too long: the next try looks before it orders again. */
  async function awaited(
    node: string,
    isWanted: (status: NodeStatus | undefined) => boolean,
    missing: string,
  ): Promise<NodeStatus | undefined> {
    for (const until = Date.now() + timeouts.effect; Date.now() < until;) {
      const seen = await statusOf(node);
      if (isWanted(seen)) return seen;
      await sleep(timeouts.again, undefined, { signal: cancellationSignal() });
    }
    throw new KcoverError('kube.conflict', missing);
  }

  async function orderQuarantine({
    node,
    by,
    reason,
  }: OperatorRequest & { readonly node: string }): ReturnType<Maintenance['orderQuarantine']> {
    const before = await statusOf(node);
    if (!before || !isQuarantined(before)) {
      const { workflowType, attributes, ...start } = nodeStart(node, settings.temporal.taskQueue);
      await asked(() =>
        temporal().workflow.signalWithStart(workflowType, {
          ...start,
          typedSearchAttributes: searchAttributePairs(attributes),
          signal: signals.quarantine,
          signalArgs: [{ by, reason }],
        }),
      );
    }
    const isOut = (status: NodeStatus | undefined) => status !== undefined && isQuarantined(status);
    const seen = await awaited(node, isOut, `node ${node} is not quarantined yet`);
    const { incident = '', because = '' } = seen ?? {};
    return { incident, because, ours: seen?.by === by && because.endsWith(reason) };
  }

  /** A fault that came meanwhile, for which the node would be quarantined. */
  async function whyKept(node: string): Promise<string | undefined> {
    const found = await asked(() => queryNode<NodeFaults>(temporal(), node, faultsQuery));
    const faults = found?.faults ?? [];
    if (faults.length === 0) return undefined;
    const { kind, because } = decideNode({ faults, now: now() }, { ...settings, mode: 'act' });
    return kind === 'quarantine' ? because : undefined;
  }

  async function returnNode({
    node,
    incident,
    by,
    reason,
  }: Parameters<Maintenance['returnNode']>[0]): Promise<ReturnResult> {
    const isThis = (status: NodeStatus | undefined) => status?.incident === incident;
    const seen = await statusOf(node);
    if (!seen || !isThis(seen)) {
      return seen && isQuarantined(seen)
        ? { kind: 'kept', because: `it is quarantined for another reason: ${seen.because}` }
        : { kind: 'released', because: 'its quarantine is over' };
    }
    if (seen.phase !== 'releasing') {
      const fault = await whyKept(node);
      if (fault !== undefined)
        return {
          kind: 'kept',
          because: `a fault came meanwhile: ${fault}; kcover node release ${node} when it is repaired`,
        };
      const handle = temporal().workflow.getHandle(nodeWorkflowId(node));
      await asked(() => handle.executeUpdate(updates.release, { args: [{ by, reason }] })).catch((error: unknown) => {
        if (!(error instanceof WorkflowNotFoundError)) throw error;
      });
    }
    await awaited(node, (status) => !isThis(status), `node ${node} is not released yet`);
    return { kind: 'released', because: 'its quarantine is over' };
  }

  return {
    orderQuarantine,
    returnNode,
    async observeMaintenance({ node: name }) {
      const node = await readNode(kube, name);
      if (!node) return null;
      const { lead } = settings.maintenance;
      const because = await hold();
      const jobs = await watchedJobsOn(dependencies, name);
      return {
        uid: node.metadata?.uid ?? '',
        leadMs: lead,
        lookAgainMs: Math.min(looks.most, Math.max(looks.least, lead / looks.inLead)),
        askAgainMs: settings.quarantine.askAgain,
        ...(because !== undefined && { hold: because }),
        jobs: jobs.map((job) => `${jobTitle(job)} in ${job.namespace}`),
      };
    },
  };
}
