/** Real faults of ranks, nodes and agents under jobs in real containers, and kcover's response. */

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type FaultyCluster, startFaultyCluster } from './faulty-cluster.ts';
import { agentFaults } from './agent-faults.ts';
import { nodeFaults } from './node-faults.ts';
import { shortOfDisk } from './short-of-disk.ts';
import { noTraces, tracesOf } from './traces.ts';

let faulty: FaultyCluster;

beforeAll(async () => {
  faulty = await startFaultyCluster();
}, 1_800_000);
afterAll(() => faulty?.stop(), 120_000);

describe('on real nodes', () => {
  // The first two keep some nodes healthy, and test faults of ranks there while they wait for the broken nodes.
  nodeFaults(() => faulty);
  shortOfDisk(() => faulty);
  describe('faults of agents and of the API server:', () => agentFaults(() => faulty));
});

describe('the test cluster', () => {
  it('leaves no process, cgroup, mount or network behind when it is stopped', async () => {
    const { directory } = faulty.cluster;
    await faulty.stop();
    expect(tracesOf(directory)).toEqual(noTraces);
  });
});
