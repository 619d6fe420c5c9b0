/** Observes and changes nodes in memory, and notifies jobs of their faults. */

import { toFailure } from '../../../activities/job/failures.ts';
import { KcoverError } from '../../../contract/errors.ts';
import { jobWorkflowId } from '../../../contract/ids.ts';
import type { Activities } from '../../../contract/wire/activities.ts';
import { nodeView } from '../builders.ts';
import type { FakeClusterState } from './state.ts';

type Names =
  | 'observeNode'
  | 'observeCluster'
  | 'storePause'
  | 'reserveQuarantine'
  | 'quarantineNode'
  | 'releaseNode'
  | 'notifyJobs'
  | 'notifyNodes';

export function nodeActivities(cluster: FakeClusterState): Pick<Activities, Names> {
  return {
    observeNode: async ({ node }) => {
      if (cluster.unreachable > 0) {
        cluster.unreachable -= 1;
        throw toFailure(new KcoverError('kube.unreachable', `read node ${node}`));
      }
      return cluster.nodes.get(node) ?? null;
    },
    observeCluster: async () => {
      await cluster.clusterReadGate;
      return { out: cluster.storedReservations, ...(cluster.storedPause && { pause: cluster.storedPause }) };
    },
    storePause: async (word) => {
      if (cluster.pauseUnwritable !== undefined)
        throw toFailure(new KcoverError('kube.invalid', cluster.pauseUnwritable));
      cluster.storedPause = word;
    },
    reserveQuarantine: async ({ nodeUid, incident, preflight }) => {
      cluster.reserving.push({ nodeUid, ...(preflight && { preflight }) });
      return cluster.mayReserve === true
        ? { granted: true, nodeUid, incident }
        : { granted: false, nodeUid, because: cluster.mayReserve };
    },
    quarantineNode: async ({ node, reason, incident }) => {
      if (cluster.writesTaintDespiteError) cluster.change(node, { taint: { value: reason, ours: true, incident } });
      if (cluster.unwritable !== undefined) throw toFailure(new KcoverError('kube.invalid', cluster.unwritable));
      cluster.change(node, { taint: { value: reason, ours: true, incident } });
      return { at: new Date().toISOString(), taint: 'ours', cordonedByUs: false };
    },
    releaseNode: async ({ node, incident, judged, history }) => {
      if (cluster.forbidden !== undefined) throw toFailure(new KcoverError('kube.forbidden', cluster.forbidden));
      if (cluster.unwritable !== undefined) throw toFailure(new KcoverError('kube.invalid', cluster.unwritable));
      if (!cluster.nodes.has(node)) return { kind: 'gone' };
      const { taint, ...rest } = cluster.nodes.get(node) ?? nodeView({ name: node });
      if (taint?.ours === false || (taint?.incident ?? incident) !== incident)
        return { kind: 'not-ours', remainingTaint: 'the taint stays' };
      cluster.nodes.set(node, { ...rest, ...(judged ? { judged } : {}), ...(history && { history }) });
      return { kind: 'released' };
    },
    notifyJobs: async ({ node, faults }) => {
      cluster.notifiedStates.push(...faults.map(({ quarantine }) => quarantine?.state ?? 'none'));
      if (!cluster.view?.optedIn || !cluster.pods.some((pod) => pod.node === node)) return [];
      await cluster.client?.workflow.getHandle(jobWorkflowId(cluster.job)).signal('faultsObserved', { faults });
      return [jobWorkflowId(cluster.job)];
    },
    notifyNodes: async ({ faults }) => {
      const unnotified = faults.filter(({ node }) => cluster.unnotifiable.has(node ?? ''));
      cluster.notified.push(...faults.filter((fault) => !unnotified.includes(fault)));
      return {
        unnotified: unnotified.map(({ id }) => id),
        ...(unnotified.length > 0 && { because: 'the namespace is full' }),
      };
    },
  };
}
