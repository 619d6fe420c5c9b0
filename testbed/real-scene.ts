/** A world of real nodes in which kcover looks after a real trainer. */

import { join } from 'node:path';
import { awaitRunning } from './jobs.ts';
import { obtainTorchImage } from './parts/torch-image.ts';
import type { RealNode } from './real-nodes/real-node.ts';
import { startKcover } from './roles.ts';
import type { Scene, SceneOptions } from './scene.ts';
import { shortReports } from './trainer.ts';
import { createTrainingJob } from './training-job.ts';
import { startWorld, stopOnSignals } from './world.ts';

/** Steps of about a tenth of a second, so that a checkpoint takes seconds and not hours. */
const training = ['--least-step-seconds=0.1', '--checkpoint-every=50', '--log-every=5'] as const;

/** Containers start one after the other on two cores, and python needs seconds to import torch. */
export const realMs = { begun: 180_000, recovered: 480_000 } as const;

/** `nodes`: how many real ones. */
export async function setRealScene({ nodes, tell, ...options }: SceneOptions): Promise<Scene> {
  const image = await obtainTorchImage(tell);
  const world = await startWorld({ ...options, nodes: 0, realNodes: nodes, initContainerImage: image.name, onProgress: tell });
  stopOnSignals(world);
  try {
    tell(`Temporal and Kubernetes run, with ${nodes} nodes that have kubelets and containers of their own; giving them the image with torch`);
    await Promise.all(world.realNodes.map((node) => node.importImage(image.archive)));
    const kcover = await startKcover(world, { ...options, ...shortReports, agentsOn: world.realNodes });
    tell(`kcover runs: ${kcover.workers.length} worker, 1 controller, ${kcover.agents.size} agents`);
    await world.api.core.createNamespace({ body: { metadata: { name: 'train' } } });
    const job = await createTrainingJob(world.api, { image: image.name, checkpoints: join(world.directory, 'checkpoints'), options: training });
    await awaitRunning(world.api, job, { withinMs: realMs.begun });
    return { world, kcover, job };
  } catch (error) {
    await world.stop();
    throw error;
  }
}

/** The node on which a pod is. */
export function realNodeOf(scene: Pick<Scene, 'world'>, name: string | undefined): RealNode {
  const node = scene.world.realNodes.find((each) => each.name === name);
  if (node === undefined) throw new Error(`${name} is no real node`);
  return node;
}
