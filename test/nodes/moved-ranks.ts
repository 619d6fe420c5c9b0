import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { evict } from '../../testbed/failures.ts';
import { violations } from '../support/invariants.ts';
import { type RankStory, uidOf } from './rank-story.ts';

/** The GPU's memory has no reserved rows left. Training continues for now, so there is time to save. */
export const xid64 =
  'NVRM: Xid (PCI:0000:5d:00): 64, pid=4242, name=python, Row Remapper Error: All reserved rows for bank are remapped';

/** Tests in which ranks have to leave one of two healthy nodes. */
export function movedRanks(begin: () => RankStory): void {
  let story: RankStory;
  beforeEach(() => {
    story = begin();
  });
  afterEach(() => story.end(), 120_000);

  describe('ranks that receive SIGTERM', () => {
    it('save before the next attempt begins, and one that ignores it is killed by its kubelet after its grace period', async () => {
      const { order, nodeOf, endOf, savedStep, live } = story.faulty;
      // The master is on the first of its nodes, which other jobs may need, so the fault is not there.
      const [Master = '', Worker = ''] = story.on;
      const job = await story.train({
        prefers: { Master, Worker },
        annotations: { 'kcover.io/checkpoint': 'on-termination' },
        graceSeconds: 8,
      });
      await order(job, 1, `trap '' TERM`);
      await sleep(1000);
      nodeOf(job, 1).kernelLog(xid64);
      const [record] = await live.settled(job);
      expect(record).toMatchObject({ outcome: 'recovered', checkpoints: [{ kind: 'saved' }] });
      expect(record?.stops).toHaveLength(1);
      expect(record?.forced).toBeUndefined();
      const [checkpoint] = record?.checkpoints ?? [];
      const saved = checkpoint?.kind === 'saved' ? checkpoint.checkpointStep : NaN;
      expect(saved).toBeGreaterThanOrEqual(record?.progress?.before?.step ?? NaN);
      expect(await savedStep(job, 0)).toBeGreaterThanOrEqual(saved);
      expect(endOf(uidOf(job, 0))).toMatchObject({ exitCode: 0 });
      expect(endOf(uidOf(job, 1))).toMatchObject({ exitCode: 137 });
      expect(violations(await live.facts(job))).toEqual([]);
    });
  });

  describe('a rank that is evicted', () => {
    it('by a drain has its whole job restarted elsewhere, blames the platform, and leaves the cordon alone', async () => {
      const { cluster, nodeOf } = story.faulty;
      const job = await story.train();
      const { name } = nodeOf(job, 1);
      const cordon = (unschedulable: boolean) =>
        cluster.api.core.patchNode({ name, body: [{ op: 'add', path: '/spec/unschedulable', value: unschedulable }] });
      await cordon(true);
      try {
        await evict(cluster.api, job.first[1] ?? {});
        const record = await story.restartedOnce(job, 'pod/disruption', 'platform');
        expect(record?.runningPods.map(({ node }) => node)).not.toContain(name);
        expect((await cluster.api.core.readNode({ name })).spec?.unschedulable).toBe(true);
      } finally {
        await cordon(false);
      }
    });

    it('by its kubelet, because it exceeded its limit of disk, blames the job', async () => {
      const job = await story.train({ limits: { 'ephemeral-storage': '20Mi' } });
      await story.faulty.order(job, 1, 'head -c 60M /dev/zero >/var/tmp/too-much');
      const record = await story.restartedOnce(job, 'pod/evicted', 'user');
      expect(record?.faults.map(({ message }) => message).join()).toMatch(/exceed/i);
    });
  });
}
