/** Set-up for tests of a node's workflow: a fake cluster and a node for each test, a rig for the whole file, and helpers. */

import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach } from '@jest/globals';
import type { WorkflowHandle } from '@temporalio/client';
import type { Fault } from '../../contract/faults/faults.ts';
import { isQuarantined, type NodeOutcome, type NodeStatus } from '../../contract/node/nodes.ts';
import { kernelFault, nodeView } from './builders.ts';
import { activitiesOf, FakeCluster } from './fake-cluster.ts';
import { eventually, type Rig, startRig } from './rig.ts';

interface Current {
  readonly cluster: FakeCluster;
  readonly rig: Rig;
  readonly node: string;
}

interface NodeRig {
  fault(more?: Partial<Fault>): Fault;
  send(...faults: Fault[]): Promise<WorkflowHandle>;
  status(handle: WorkflowHandle): Promise<NodeStatus>;
  /** Releases the node once it is quarantined. */
  released(handle: WorkflowHandle): Promise<NodeOutcome>;
  /** Ids of workflows whose histories are replayed at the end. */
  readonly started: string[];
}

/** Call it at the top of a file; `begin` receives the cluster and node of each test. */
export function useNodeRig(begin: (current: Current) => void): NodeRig {
  let cluster = new FakeCluster();
  let rig: Rig;
  let node = '';
  const started: string[] = [];
  const status = (handle: WorkflowHandle) => handle.query<NodeStatus>('status');
  beforeAll(async () => {
    rig = await startRig(activitiesOf(() => cluster));
  });
  beforeEach(() => {
    cluster = new FakeCluster();
    node = `gpu-${randomUUID()}`;
    cluster.nodes.set(node, nodeView({ name: node, uid: `uid-${node}`, systemUuid: `machine-${node}` }));
    begin({ cluster, rig, node });
  });
  afterAll(async () => {
    for (const id of started) rig.replayAtEnd(id);
    await rig.close();
  });
  return {
    started,
    status,
    fault: (more = {}) => kernelFault({ node, ...more }),
    async send(...faults) {
      const workflowId = `node/${node}`;
      started.push(workflowId);
      return rig.client.workflow.signalWithStart('nodeQuarantine', {
        workflowId,
        taskQueue: rig.taskQueue,
        args: [{ node }],
        signal: 'faultsObserved',
        signalArgs: [{ faults }],
      });
    },
    async released(handle) {
      await eventually(() => status(handle), isQuarantined);
      await handle.executeUpdate('release', { args: [{ by: 'ada', reason: 'replaced the card' }] });
      return handle.result() as Promise<NodeOutcome>;
    },
  };
}
