/** Demo: a real trainer on real nodes. A GPU begins to fail, all ranks save when they receive SIGTERM, and training continues elsewhere from there. */

import { watchIncident } from './incident.ts';
import { podsOf } from './jobs.ts';
import { followLogs } from './pod-logs.ts';
import { isTrue, type Proof, proofLines, proofOf } from './proof.ts';
import { realMs, realNodeOf, setUpRealDemo } from './real-demo-fixture.ts';
import type { DemoFixture } from './demo-fixture.ts';
import type { Story } from './story.ts';
import { awaitProgress } from './trainer.ts';
import { readTrainingLog, type TerminationNotice, type TrainingLog } from './training-log.ts';
import { until } from './until.ts';

/** The GPU's memory has no reserved rows left: training continues for now, so there is time to save. */
const line =
  'NVRM: Xid (PCI:0000:5d:00): 64, pid=4242, name=python, Row Remapper Error: (0x00000002eebc4100) - All reserved rows for bank are remapped';

/** Two pods with two processes each. */
const ranks = [0, 1, 2, 3] as const;

/** Of the first reported step, the last one before the stop and one soon after it. */
interface Losses {
  readonly first: number;
  readonly before: number;
  readonly after: number;
}

/** In addition to the proof. */
export interface RealFacts {
  /** The broken node. */
  readonly node: string;
  readonly kubelet: string;
  readonly containerRuntime: string;
  /** As reported by the ranks. Null: they started from scratch. */
  readonly resumedFromStep: number | null;
  readonly sigterm: readonly TerminationNotice[];
  readonly losses: Losses;
}

export const realTrainer: Story = {
  nodes: 3,
  set: setUpRealDemo,
  async run(fixture, print) {
    const { cluster, kcover, job } = fixture;
    const before = await podsOf(cluster.api, job);
    const logs = followLogs(cluster.kubernetes.kubeconfig, before);
    print(
      `\nPyTorchJob train/llm runs on ${before.map((pod) => pod.spec?.nodeName).join(', ')}, with ${ranks.length} ranks`,
    );
    await awaitProgress(
      cluster.api,
      job,
      ({ step, checkpointStep }) => checkpointStep !== undefined && step >= checkpointStep + 10,
      realMs.running,
    );
    const { step, checkpointStep } = await awaitProgress(cluster.api, job, (progress) => progress);
    print(`It trains: step ${step} is done, the last checkpoint is of step ${checkpointStep}\n`);

    const node = realNodeOf(fixture, before.at(-1)?.spec?.nodeName);
    const incident = await watchIncident(cluster, kcover, job, before, print);
    const since = new Date();
    incident.happened(`kernel of ${node.name}: ${line}`);
    node.kernelLog(line);
    const seen = await incident.ended(realMs.recovered);
    await logs.stop();

    const proof = await proofOf(fixture, before);
    const stopped = readTrainingLog(logs.text());
    const resumed = await awaitStep(fixture, Object.keys(seen.attemptAfter), (proof.stepAfter ?? 0) + 1);
    const losses = lossesOf(stopped, resumed);
    const { kubeletVersion: kubelet, containerRuntimeVersion: containerRuntime } = await nodeInfoOf(fixture, node.name);
    const resumedFromStep = resumed.resumedFrom ?? null;
    const facts: RealFacts = {
      node: node.name,
      kubelet,
      containerRuntime,
      resumedFromStep,
      sigterm: stopped.sigterm,
      losses,
    };
    const elsewhere = Object.values(seen.attemptAfter).every((pod) => pod.node !== node.name);
    return {
      seen,
      since,
      facts: { ...proof, ...facts },
      lines: [
        ['nodes', `kubelet ${kubelet}, ${containerRuntime}`],
        ...proofLines(proof),
        ['resumed', `from step ${resumedFromStep}`],
        ['loss', `${losses.first} at first, ${losses.before} before the stop, ${losses.after} after it`],
        ...stopped.sigterm.map(({ rank, said }): readonly [string, string] => [`rank ${rank}`, said]),
      ],
      commands: [`npx kcover report ${seen.incident}`, 'kubectl logs -n train llm-master-0'],
      ok:
        elsewhere &&
        isTrue(proof, maxStep(resumed)) &&
        goesOnFrom(proof, resumedFromStep) &&
        allNotified(stopped.sigterm) &&
        isNear(losses),
    };
  },
};

/** The output of the new attempt's pods, as soon as it contains this step. */
const awaitStep = ({ cluster, job }: DemoFixture, pods: readonly string[], step: number): Promise<TrainingLog> =>
  until(`step ${step} in the logs`, realMs.running, async () => {
    const texts = await Promise.all(
      pods.map((name) => cluster.api.core.readNamespacedPodLog({ name, namespace: job.namespace })),
    );
    const log = readTrainingLog(texts.join('\n'));
    return maxStep(log) >= step ? { found: log } : { missing: `the last one is ${maxStep(log)}` };
  });

const maxStep = ({ losses }: TrainingLog): number => Math.max(0, ...losses.keys());

/** The checkpoint was saved at the stop, not before it, and training went past it. */
const goesOnFrom = ({ stepBefore, stepAfter }: Proof, from: number | null): boolean =>
  stepBefore !== null && stepAfter !== null && from !== null && stepBefore <= from && from < stepAfter;

const allNotified = (sigterm: readonly TerminationNotice[]): boolean =>
  ranks.every((rank) => sigterm.some((each) => each.rank === rank));

function lossesOf(stopped: TrainingLog, resumed: TrainingLog): Losses {
  const [before, after] = [[...stopped.losses.values()], [...resumed.losses.values()]];
  return { first: before[0] ?? NaN, before: before.at(-1) ?? NaN, after: after[0] ?? NaN };
}

/** A model that started from scratch would have the loss of the first steps. */
const isNear = ({ first, before, after }: Losses): boolean => Math.abs(after - before) < Math.abs(first - after);

async function nodeInfoOf({ cluster }: Pick<DemoFixture, 'cluster'>, name: string) {
  const { status } = await cluster.api.core.readNode({ name });
  if (status?.nodeInfo === undefined) throw new Error(`node ${name} says nothing of itself`);
  return status.nodeInfo;
}
