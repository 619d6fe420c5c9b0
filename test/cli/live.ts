/** Runs the program against the servers of the test run, and a worker with a simulated cluster. */

import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { directoryRecords } from '../../activities/index.ts';
import { activitiesOf, FakeCluster } from '../support/fake-cluster.ts';
import { clusterWorkflowId } from '../../contract/ids.ts';
import { nodeView } from '../support/builders.ts';
import { type Rig, startRig, testServers, type TestServers } from '../support/rig.ts';
import { kcover, type Ran } from './kcover.ts';

interface Servers extends TestServers {
  readonly kubeconfig: string;
}

/** Environment with which the program finds the servers. */
export function serverEnvironment(more: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> {
  const { kubeconfig, temporalAddress } = testServers<Servers>();
  return { KUBECONFIG: kubeconfig, TEMPORAL_ADDRESS: temporalAddress, ...more };
}

/** The program's JSON output; a failure reports its whole output. */
export async function answerOf<T>(
  args: readonly string[],
  to = serverEnvironment(),
): Promise<{ readonly code: number | null; readonly data: T }> {
  const ran = await kcover([...args, '--output', 'json'], '', to);
  try {
    return { code: ran.code, data: JSON.parse(ran.stdout) as T };
  } catch {
    throw new Error(saidBy(ran));
  }
}

const saidBy = ({ code, stdout, stderr }: Ran): string => `kcover ended with ${code}\n${stdout}\n${stderr}`;

export interface SimulatedCluster {
  readonly rig: Rig;
  readonly cluster: FakeCluster;
  /** A node that no other test uses. */
  readonly node: string;
  /** Directory of the records. */
  readonly records: string;
  close(): Promise<void>;
}

/** Real Temporal, real records in a directory, and a cluster in memory. */
export async function simulatedCluster(): Promise<SimulatedCluster> {
  const cluster = new FakeCluster();
  const node = `gpu-${randomUUID()}`;
  cluster.nodes.set(node, nodeView({ name: node, uid: `uid-${node}`, systemUuid: `machine-${node}` }));
  const records = mkdtempSync(join(tmpdir(), 'kcover-records-'));
  const store = directoryRecords(records);
  const rig = await startRig({
    ...activitiesOf(() => cluster),
    recordIncident: async (record) => ({ address: await store.put(record.incident, record) }),
  });
  cluster.client = rig.client;
  // An earlier test may have left one without a worker: every query to it would wait in vain.
  await rig.client.workflow
    .getHandle(clusterWorkflowId)
    .terminate('left by an earlier test')
    .catch(() => undefined);
  return {
    rig,
    cluster,
    node,
    records,
    async close() {
      await rig.close();
      rmSync(records, { recursive: true });
    },
  };
}
