/** Demo: a GPU fails in a cluster without a free node, and the job goes on with one pod less. */

import { overrideAnnotations } from '../contract/job/job-overrides.ts';
import { breakGpu, failContainer } from './failures.ts';
import { watchIncident } from './incident.ts';
import { podsOf } from './jobs.ts';
import { isTrue, proofLines, proofOf } from './proof.ts';
import { setUpDemo } from './demo-fixture.ts';
import type { Story } from './story.ts';
import { awaitProgress, endsSlowly, shortReports, startTrainer } from './trainer.ts';

const line = 'NVRM: Xid (PCI:0000:5d:00): 79, pid=4242, name=python, GPU has fallen off the bus.';

const training = { msPerStep: 250, stepsPerCheckpoint: 20, from: 1200 } as const;

export const shrink: Story = {
  nodes: 4,
  // Each pod takes all GPUs of a node, and each node has a pod.
  set: (options) =>
    setUpDemo(
      { ...options, ...shortReports },
      {
        ...endsSlowly,
        workers: options.nodes - 1,
        annotations: { [overrideAnnotations.capacity]: 'shrink', [overrideAnnotations.minReplicas]: '2' },
      },
    ),
  async run(fixture, print) {
    const { cluster, kcover, job } = fixture;
    const before = await podsOf(cluster.api, job);
    print(
      `\nPyTorchJob train/llm runs on ${before.map((pod) => pod.spec?.nodeName).join(', ')}, and no node is left. It may shrink to 2 pods`,
    );
    const trainer = startTrainer(cluster, job, training);
    await awaitProgress(cluster.api, job, ({ checkpointStep = 0 }) => checkpointStep > training.from);
    print(`It trains: step ${trainer.step}, the last checkpoint is of step ${trainer.checkpointStep}\n`);

    // Not the last pod, which the smaller job would not need.
    const failingPod = before.find(({ metadata }) => metadata?.name?.endsWith('-worker-0'));
    const node = cluster.nodes.find(({ name }) => name === failingPod?.spec?.nodeName);
    if (failingPod === undefined || node === undefined) throw new Error('the job has no pod on a node');
    const incident = await watchIncident(cluster, kcover, job, before, print);
    const since = new Date();
    incident.happened(`kernel of ${node.name}: ${line}`);
    await breakGpu(node, line);
    await failContainer(cluster.api, failingPod, { exitCode: 1 });
    incident.happened(`pod ${failingPod.metadata?.name} on ${node.name} failed with exit code 1`);
    const seen = await incident.ended();
    const reached = trainer.step;
    const proof = await proofOf(fixture, before);
    return {
      seen,
      since,
      facts: { node: node.name, ...proof },
      lines: proofLines(proof),
      commands: [`npx kcover report ${seen.incident}`],
      ok: isTrue(proof, reached) && proof.replicasAfter === proof.replicasBefore - 1,
    };
  },
};
