/** A test cluster of real nodes with a real trainer that kcover watches. */

import { join } from 'node:path';
import { awaitRunning } from './jobs.ts';
import { obtainTorchImage } from './parts/torch-image.ts';
import type { RealNode } from './real-nodes/real-node.ts';
import { startKcover } from './roles.ts';
import type { DemoFixture, DemoFixtureOptions } from './demo-fixture.ts';
import { shortReports } from './trainer.ts';
import { createTrainingJob } from './training-job.ts';
import { startTestCluster, stopOnSignals } from './test-cluster.ts';

/** Steps of about a tenth of a second, so that a checkpoint takes seconds and not hours. */
const training = ['--least-step-seconds=0.1', '--checkpoint-every=50', '--log-every=5'] as const;

/** Containers start one after the other on two cores, and Python needs seconds to import torch. */
export const realMs = { running: 180_000, recovered: 480_000 } as const;

/** `nodes`: number of real nodes. */
export async function setUpRealDemo({ nodes, print, ...options }: DemoFixtureOptions): Promise<DemoFixture> {
  const image = await obtainTorchImage(print);
  const cluster = await startTestCluster({
    ...options,
    nodes: 0,
    realNodes: nodes,
    initContainerImage: image.name,
    onProgress: print,
  });
  stopOnSignals(cluster);
  try {
    print(
      `Temporal and Kubernetes run, with ${nodes} nodes that have kubelets and containers of their own; giving them the image with torch`,
    );
    await Promise.all(cluster.realNodes.map((node) => node.importImage(image.archive)));
    const kcover = await startKcover(cluster, { ...options, ...shortReports, agentsOn: cluster.realNodes });
    print(`kcover runs: ${kcover.workers.length} worker, 1 controller, ${kcover.agents.size} agents`);
    await cluster.api.core.createNamespace({ body: { metadata: { name: 'train' } } });
    const job = await createTrainingJob(cluster.api, {
      image: image.name,
      checkpoints: join(cluster.directory, 'checkpoints'),
      options: training,
    });
    await awaitRunning(cluster.api, job, { withinMs: realMs.running });
    return { cluster, kcover, job };
  } catch (error) {
    await cluster.stop();
    throw error;
  }
}

/** The real node of a pod. */
export function realNodeOf(fixture: Pick<DemoFixture, 'cluster'>, name: string | undefined): RealNode {
  const node = fixture.cluster.realNodes.find((each) => each.name === name);
  if (node === undefined) throw new Error(`${name} is no real node`);
  return node;
}
