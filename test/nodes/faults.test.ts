/** Real faults of ranks, nodes and agents under jobs in real containers, and what kcover makes of them. */

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
  // Each of the first two leaves sound nodes, on which ranks die while everybody waits for the others.
  nodeFaults(() => faulty);
  shortOfDisk(() => faulty);
  describe('whoever reports:', () => agentFaults(() => faulty));
});

describe('the end of it all', () => {
  it('leaves nothing behind', async () => {
    const { directory } = faulty.cluster;
    await faulty.stop();
    expect(tracesOf(directory)).toEqual(noTraces);
  });
});
