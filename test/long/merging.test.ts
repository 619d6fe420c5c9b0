import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Context } from '@temporalio/activity';
import type { Activities } from '../../contract/wire/activities.ts';
import { FakeCluster } from '../support/fake-cluster.ts';
import { Interleaving } from '../support/interleaving.ts';
import { violations } from '../support/merging.ts';
import { type Rig, startRig } from '../support/rig.ts';

/** Set both to look for more: `MERGING_SEEDS=200 MERGING_FROM=1000`. */
const count = Number(process.env['MERGING_SEEDS'] ?? 12);
const from = Number(process.env['MERGING_FROM'] ?? 1);
/** Scenarios at once in one worker. */
const atOnce = 4;

/** Job and recovery carry the UID of the job in their ids. */
const uidOf = (workflowId: string): string => workflowId.split('/')[3] ?? '';

describe('faults that meet a recovery', () => {
  const runs = new Map<string, Interleaving>();
  let rig: Rig;
  beforeAll(async () => {
    const names = Object.keys(new FakeCluster().activities()) as (keyof Activities)[];
    const activities = Object.fromEntries(
      names.map((name) => [
        name,
        (request: never) => {
          const { workflowId = '' } = Context.current().info.workflowExecution ?? {};
          const run = runs.get(uidOf(workflowId));
          if (!run) throw new Error(`${workflowId} belongs to no scenario`);
          return (run.cluster.activities()[name] as (one: never) => unknown)(request);
        },
      ]),
    );
    rig = await startRig(activities as unknown as Activities);
  });
  afterAll(() => rig.close());

  async function play(seed: number): Promise<string> {
    const run = new Interleaving(seed);
    runs.set(run.cluster.job.uid, run);
    await run.play(rig.client, rig.taskQueue);
    const wrong = violations(run);
    await rig
      .replay(run.workflowId, ...run.cluster.records.map(({ incident }) => incident))
      .catch((error: unknown) => wrong.push(String(error)));
    return wrong.length === 0 ? '' : [`seed ${seed}`, ...wrong.map((one) => `WRONG ${one}`), ...run.log].join('\n');
  }

  it('are handled once each, whenever they arrive', async () => {
    const seeds = Array.from({ length: count }, (_, index) => from + index);
    const wrong: string[] = [];
    await Promise.all(
      Array.from({ length: atOnce }, async () => {
        for (let seed = seeds.shift(); seed !== undefined; seed = seeds.shift()) wrong.push(await play(seed));
      }),
    );
    expect(wrong.filter(Boolean).join('\n\n')).toBe('');
  });
});
