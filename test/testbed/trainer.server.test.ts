import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Progress, progressDirectory } from '../../contract/progress/progress.ts';
import { type AttachedTestCluster, attachTestCluster } from '../../testbed/attach.ts';
import { merge } from '../../testbed/api.ts';
import { pytorchJob } from '../../testbed/job-manifests.ts';
import { awaitRunning, changeJob, createJob, placeOf, podsOf, type RunningJob } from '../../testbed/jobs.ts';
import type { SimulatedNode } from '../../testbed/nodes.ts';
import { startTrainer, type Trainer } from '../../testbed/trainer.ts';
import { until } from '../../testbed/until.ts';

/** The only checkpoint in this test: the next one would be much later. */
const saved = 1000;

let cluster: AttachedTestCluster;
let job: RunningJob;
let trainer: Trainer;
let cordoned: SimulatedNode | undefined;

beforeAll(async () => {
  cluster = attachTestCluster(process.env['KCOVER_TEST_CLUSTER'] ?? '');
  const namespace = `trainer-${randomUUID().slice(0, 8)}`;
  await cluster.api.core.createNamespace({ body: { metadata: { name: namespace } } });
  job = await createJob(cluster.api, pytorchJob({ name: 'llm', namespace, workers: 1 }));
});
afterAll(async () => {
  await trainer?.stop();
  if (cordoned) await setCordon(cordoned, false);
  if (job) await cluster.api.custom.deleteNamespacedCustomObject({ ...placeOf(job), propagationPolicy: 'Background' });
});

const setCordon = ({ name }: SimulatedNode, unschedulable: boolean) =>
  cluster.api.core.patchNode({ name, body: { spec: { unschedulable } } }, merge);

/** The node of rank 0. */
async function leader(): Promise<SimulatedNode> {
  const master = (await awaitRunning(cluster.api, job)).find(({ metadata }) => metadata?.name === 'llm-master-0');
  const node = cluster.nodes.find(({ name }) => name === master?.spec?.nodeName);
  if (!node) throw new Error('rank 0 is on no node');
  return node;
}

const progressOn = async ({ hostRoot }: SimulatedNode): Promise<Progress> =>
  JSON.parse(await readFile(join(hostRoot, progressDirectory, job.namespace, 'llm-0.json'), 'utf8')) as Progress;

/** Waits until the node's progress file matches. */
const awaitProgress = (node: SimulatedNode, enough: (progress: Progress) => boolean): Promise<Progress> =>
  until(`progress on ${node.name}`, 60_000, async () => {
    const written = await progressOn(node);
    return enough(written) ? { found: written } : { missing: JSON.stringify(written) };
  });

describe('the simulated trainer', () => {
  it('reports its steps and its last checkpoint on the node of rank 0', async () => {
    const node = await leader();
    trainer = startTrainer(cluster, job, { msPerStep: 200, stepsPerCheckpoint: saved, from: saved - 5 });
    expect(await awaitProgress(node, ({ step }) => step > saved + 3)).toMatchObject({
      checkpointStep: saved,
      phase: 'training',
    });
  });

  it('begins the next attempt from its last checkpoint, on the new node of rank 0', async () => {
    const before = await leader();
    const { step: lost } = await awaitProgress(before, ({ step }) => step > saved + 30);
    cordoned = before;
    await setCordon(before, true);
    await changeJob(cluster.api, job, { spec: { runPolicy: { suspend: true } } });
    await until('no pod left', 60_000, async () =>
      (await podsOf(cluster.api, job)).length === 0 ? { found: true } : { missing: 'pods are there' },
    );
    await changeJob(cluster.api, job, { spec: { runPolicy: { suspend: false } } });

    const after = await leader();
    expect(after.name).not.toBe(before.name);
    const first = await awaitProgress(after, () => true);
    expect(first).toMatchObject({ checkpointStep: saved });
    expect(first.step).toBeLessThan(lost);
    await awaitProgress(after, ({ step }) => step > first.step);
  });
});
