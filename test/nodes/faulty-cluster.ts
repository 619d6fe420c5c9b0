/** Real nodes, kcover, and helpers to run and break trainers. */

import { randomUUID } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { V1ContainerStateTerminated, V1Pod } from '@kubernetes/client-node';
import { Client, Connection } from '@temporalio/client';
import type { IncidentRecord } from '../../contract/recovery/recovery.ts';
import { connectKube } from '../../kube/client/connection.ts';
import { watchResource } from '../../kube/client/watch.ts';
import type { RealNode } from '../../testbed/real-nodes/real-node.ts';
import { startKcover } from '../../testbed/roles.ts';
import { awaitProgress, shortReports } from '../../testbed/trainer.ts';
import { startTestCluster, type TestCluster } from '../../testbed/test-cluster.ts';
import { startClusterRecorder } from '../support/cluster-recorder.ts';
import { type LiveJob, LiveKcover, quick } from '../support/live-kcover.ts';
import { obtainShellImage, type ShellTrainerOptions, shellTrainer } from './shell-trainer.ts';

export type Trained = Omit<ShellTrainerOptions, 'name' | 'namespace' | 'image' | 'checkpoints'> & {
  readonly image?: string;
};

export interface FaultyCluster {
  readonly cluster: TestCluster;
  readonly live: LiveKcover;
  readonly nodes: readonly RealNode[];
  /** Archive of the image of the trainers. */
  readonly imageArchive: string;
  manifestOf(options: Trained): (namespace: string) => ReturnType<typeof shellTrainer>;
  /** Starts a job; resolves when it has made some steps. */
  train(options?: Trained): Promise<LiveJob>;
  /** Makes the shell of a rank run the command after its next step. */
  order(job: LiveJob, rank: number, command: string): Promise<void>;
  /** The last step that a rank has saved. */
  savedStep(job: LiveJob, rank: number): Promise<number>;
  /** The node of a pod of the first attempt; pod 0 is the master. */
  nodeOf(job: LiveJob, pod: number): RealNode;
  /** How the container of a pod ended, as its kubelet reported before the pod was deleted. */
  endOf(uid: string | undefined): V1ContainerStateTerminated | undefined;
  /** The stored evidence of an incident: file names and their content. */
  evidenceOf(record: IncidentRecord | undefined): Promise<ReadonlyMap<string, string>>;
  stop(): Promise<void>;
}

export const say = (line: string): void => void process.stderr.write(`${line}\n`);

export async function startFaultyCluster(): Promise<FaultyCluster> {
  const image = await obtainShellImage(say);
  const cluster = await startTestCluster({
    nodes: 0,
    realNodes: 3,
    realKernelLog: true,
    initContainerImage: image.name,
    onProgress: say,
  });
  try {
    await Promise.all(cluster.realNodes.map((node) => node.importImage(image.archive)));
    return await equip(cluster, image);
  } catch (error) {
    await cluster.stop();
    throw error;
  }
}

async function equip(
  cluster: TestCluster,
  image: { readonly name: string; readonly archive: string },
): Promise<FaultyCluster> {
  const agentSettings = { ...shortReports.agentSettings, kernelLog: { userSpace: true } };
  const kcover = await startKcover(cluster, {
    ...shortReports,
    workerSettings: quick,
    agentSettings,
    agentsOn: cluster.realNodes,
  });
  const connection = await Connection.connect({ address: cluster.temporal.address });
  const temporal = new Client({ connection, namespace: cluster.temporal.namespace });
  const nodes = cluster.realNodes.map(({ name, hostRoot }) => ({ name, uid: '', hostRoot }));
  const live = new LiveKcover(
    { ...cluster, nodes },
    kcover,
    temporal,
    await startClusterRecorder(cluster.kubernetes.kubeconfig),
  );
  const ends = await watchEnds(cluster.kubernetes.kubeconfig);
  const checkpoints = join(cluster.directory, 'checkpoints');
  mkdirSync(checkpoints);
  const manifestOf = (options: Trained) => (namespace: string) =>
    shellTrainer({ image: image.name, checkpoints, ...options, namespace, name: `llm-${randomUUID().slice(0, 8)}` });
  return {
    cluster,
    live,
    nodes: cluster.realNodes,
    imageArchive: image.archive,
    manifestOf,
    train: async (options = {}) => {
      const job = await live.run(manifestOf(options));
      await awaitProgress(cluster.api, job, ({ step }) => step >= 5);
      return job;
    },
    order: async ({ name }, rank, command) => {
      const file = join(checkpoints, `${name}-${rank}.order`);
      await writeFile(`${file}.part`, `${command}\n`);
      await rename(`${file}.part`, file);
    },
    savedStep: async ({ name }, rank) => Number(await readFile(join(checkpoints, `${name}-${rank}`), 'utf8')),
    nodeOf: ({ nodes: under }, pod) => {
      const node = cluster.realNodes.find(({ name }) => name === under[pod]?.name);
      if (node === undefined) throw new Error(`pod ${pod} is on no real node`);
      return node;
    },
    endOf: (uid) => ends.of.get(uid),
    evidenceOf: async (record) => {
      const texts = new Map<string, string>();
      for (const { address } of record?.evidence ?? [])
        for (const file of await readdir(address)) texts.set(file, await readFile(join(address, file), 'utf8'));
      return texts;
    },
    stop: async () => {
      await ends.stop();
      await live.close();
      await cluster.stop();
    },
  };
}

/** Watches pods, and remembers how each container ended. */
async function watchEnds(kubeconfig: string) {
  const kube = connectKube({ kubeconfig });
  const over = new AbortController();
  const of = new Map<string | undefined, V1ContainerStateTerminated>();
  const watch = watchResource<V1Pod>({
    kube,
    signal: over.signal,
    path: '/api/v1/pods',
    onEvent: ({ object: { metadata, status } }) => {
      const end = status?.containerStatuses?.[0]?.state?.terminated;
      if (end) of.set(metadata?.uid, end);
    },
  });
  await watch.synced;
  return {
    of,
    stop: async () => {
      over.abort();
      await kube.close();
    },
  };
}
