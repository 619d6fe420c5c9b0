/** Demo: a GPU begins to fail while its job still trains. The next checkpoint is awaited, then all pods restart elsewhere. */

import { breakGpu } from './failures.ts';
import { watchIncident } from './incident.ts';
import { podsOf } from './jobs.ts';
import { isTrue, proofLines, proofOf } from './proof.ts';
import { setUpDemo } from './demo-fixture.ts';
import type { Story } from './story.ts';
import { awaitProgress, endsSlowly, shortReports, startTrainer } from './trainer.ts';

/** The GPU's memory has no reserved rows left: the next error ends the job, at an unknown time. */
const line =
  'NVRM: Xid (PCI:0000:5d:00): 64, pid=4242, name=python, Row Remapper Error: (0x00000002eebc4100) - All reserved rows for bank are remapped';

const training = { msPerStep: 200, stepsPerCheckpoint: 40, from: 1200 } as const;

/** Seconds stand for the hours of a real training: the job is expected to run on for a minute. */
const settings = { recovery: { checkpoint: { mtbf: '1m' } } } as const;

export const checkpoint: Story = {
  nodes: 8,
  set: (options) => setUpDemo({ ...options, ...shortReports, workerSettings: settings }, { workers: 3, ...endsSlowly }),
  async run(fixture, print) {
    const { cluster, kcover, job } = fixture;
    const before = await podsOf(cluster.api, job);
    print(`\nPyTorchJob train/llm runs on ${before.map((pod) => pod.spec?.nodeName).join(', ')}`);
    const trainer = startTrainer(cluster, job, training);
    const { msPerStep, stepsPerCheckpoint } = await awaitProgress(
      cluster.api,
      job,
      ({ pace }) => pace?.stepsPerCheckpoint !== undefined && pace,
    );
    print(`It trains: a step takes ${msPerStep} ms, and every ${stepsPerCheckpoint} steps it saves a checkpoint\n`);
    await awaitProgress(
      cluster.api,
      job,
      () => (trainer.step - trainer.checkpointStep) * 2 >= training.stepsPerCheckpoint,
    );

    const node = cluster.nodes.find(({ name }) => name === before.at(-1)?.spec?.nodeName);
    if (node === undefined) throw new Error('the job has no pod on a node');
    const incident = await watchIncident(cluster, kcover, job, before, print);
    const since = new Date();
    incident.happened(`kernel of ${node.name}: ${line}`);
    await breakGpu(node, line);
    const { step, checkpointStep } = trainer;
    incident.happened(`training goes on: step ${step}, the last checkpoint is of step ${checkpointStep}`);
    const seen = await incident.ended();
    const reached = trainer.step;
    const proof = await proofOf(fixture, before);
    const again = (proof.stepBefore ?? 0) - (proof.checkpointStep ?? 0);
    return {
      seen,
      since,
      facts: { node: node.name, ...proof },
      lines: [
        ...proofLines(proof),
        ['lost', `steps to do again: ${again}; stopped at the fault, it would be ${step - checkpointStep}`],
      ],
      commands: [`npx kcover report ${seen.incident}`],
      ok: isTrue(proof, reached) && proof.waitedForCheckpointMs > 0 && (proof.checkpointStep ?? 0) > checkpointStep,
    };
  },
};
