/** Keeps Events and records in memory, and answers for Temporal. */

import { toFailure } from '../../../activities/job/failures.ts';
import { KcoverError } from '../../../contract/errors.ts';
import type { Activities } from '../../../contract/wire/activities.ts';
import type { FakeClusterState } from './state.ts';

type Names =
  | 'announce'
  | 'deliverNotification'
  | 'recordIncident'
  | 'findRecoveries'
  | 'lookAtRecovery'
  | 'notifyWaiting';

export function recordActivities(cluster: FakeClusterState): Pick<Activities, Names> {
  return {
    announce: async ({ events }) => {
      await cluster.eventsGate;
      if (cluster.failingEvents > 0) {
        cluster.failingEvents -= 1;
        throw toFailure(new KcoverError('kube.unreachable', 'write an Event: 500'));
      }
      cluster.announced.push(...events);
    },
    deliverNotification: async ({ route, notifications, more }) => {
      await cluster.onNotification?.(route, notifications.length + more);
    },
    recordIncident: async (record) => {
      await cluster.recordGate;
      if ('job' in record) cluster.records.push(record);
      else cluster.nodeRecords.push(record);
      return { address: `memory/${record.incident}` };
    },
    findRecoveries: async () => {
      if (cluster.unsearchable !== undefined) throw toFailure(new KcoverError('kube.invalid', cluster.unsearchable));
      return cluster.found;
    },
    lookAtRecovery: async () => {
      if (cluster.closed) return { kind: 'closed', report: cluster.closed };
      return { kind: 'running', ...(cluster.stuck !== undefined && { stuck: cluster.stuck }) };
    },
    notifyWaiting: async ({ workflowIds }) => {
      cluster.onNotified?.(workflowIds);
      for (const id of workflowIds)
        await cluster.client?.workflow
          .getHandle(id)
          .signal('recheck')
          .catch(() => undefined);
    },
  };
}
