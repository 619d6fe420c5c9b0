import { type RunningJob, awaitRunning, createJob } from './jobs.ts';
import { type KubeflowJobManifest, type PytorchJobOptions, pytorchJob } from './job-manifests.ts';
import { type Kcover, type KcoverOptions, startKcover } from './roles.ts';
import { type TestCluster, type TestClusterOptions, startTestCluster, stopOnSignals } from './test-cluster.ts';

/** Everything runs on one machine, where the first report may take longer than 500 ms when caches are cold. A fault of the node ends this wait at once. */
const patient = { correlation: '5s' } as const;

/** A test cluster with a training job that kcover watches. */
export interface DemoFixture {
  readonly cluster: TestCluster;
  readonly kcover: Kcover;
  readonly job: RunningJob;
}

export type DemoFixtureOptions = TestClusterOptions & KcoverOptions & { readonly print: (line: string) => void };

/** Sets everything up until the job runs, printing each step. Ctrl-C ends it at any time and leaves nothing behind. */
export const setUpDemo = (
  options: DemoFixtureOptions,
  job: Omit<PytorchJobOptions, 'name'> = { workers: 3 },
): Promise<DemoFixture> => setUp(options, llm(job), awaitRunning);

/** The same, until a job of this shape is created; its pods have not started. */
export const setUpDemoBefore = (
  options: DemoFixtureOptions,
  job: Omit<PytorchJobOptions, 'name'>,
): Promise<DemoFixture> => setUp(options, llm(job), async () => undefined);

const llm = (options: Omit<PytorchJobOptions, 'name'>): KubeflowJobManifest =>
  pytorchJob({ ...options, name: 'llm', namespace: 'train', labels: { 'kcover.io/cascading-recovery': 'true' } });

async function setUp(
  options: DemoFixtureOptions,
  manifest: KubeflowJobManifest,
  isSetUp: (api: TestCluster['api'], job: RunningJob) => Promise<unknown>,
): Promise<DemoFixture> {
  const { print } = options;
  const cluster = await startTestCluster({ ...options, nodeNames: 'short', onProgress: print });
  stopOnSignals(cluster);
  try {
    print(`Temporal and Kubernetes run, with ${cluster.nodes.length} simulated GPU nodes; starting kcover`);
    const { recovery, ...workerSettings } = options.workerSettings ?? {};
    const kcover = await startKcover(cluster, {
      ...options,
      workerSettings: { ...workerSettings, recovery: { ...patient, ...(recovery as object | undefined) } },
    });
    print(`kcover runs: ${kcover.workers.length} worker, 1 controller, ${kcover.agents.size} agents`);
    await cluster.api.core.createNamespace({ body: { metadata: { name: 'train' } } });
    const job = await createJob(cluster.api, manifest);
    await isSetUp(cluster.api, job);
    return { cluster, kcover, job };
  } catch (error) {
    await cluster.stop();
    throw error;
  }
}

/** The URL of one workflow in the Temporal UI. */
export const workflowPage = ({ temporal }: Pick<TestCluster, 'temporal'>, workflowId: string): string =>
  `${temporal.uiUrl}/namespaces/${temporal.namespace}/workflows/${encodeURIComponent(workflowId)}`;
