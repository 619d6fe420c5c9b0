import { type RunningJob, awaitRunning, createJob } from './jobs.ts';
import { type KubeflowJobManifest, type PytorchJobOptions, pytorchJob } from './job-manifests.ts';
import { type Kcover, type KcoverOptions, startKcover } from './roles.ts';
import { type TestCluster, type TestClusterOptions, startTestCluster, stopOnSignals } from './test-cluster.ts';

/** All of it runs on one machine, and the first report of a cold one may take longer than 500 ms. A fault of the node ends this wait at once. */
const patient = { correlation: '5s' } as const;

/** A test cluster in which kcover looks after a training job. */
export interface DemoFixture {
  readonly cluster: TestCluster;
  readonly kcover: Kcover;
  readonly job: RunningJob;
}

export type DemoFixtureOptions = TestClusterOptions & KcoverOptions & { readonly print: (line: string) => void };

/** Sets everything up until the job runs, telling each part as it is done. Ctrl-C ends it at any time and leaves nothing behind. */
export const setUpDemo = (options: DemoFixtureOptions, job: Omit<PytorchJobOptions, 'name'> = { workers: 3 }): Promise<DemoFixture> =>
  setUp(options, llm(job), awaitRunning);

/** The same, until a job of this shape is created: its pods have not begun. */
export const setUpDemoBefore = (options: DemoFixtureOptions, job: Omit<PytorchJobOptions, 'name'>): Promise<DemoFixture> =>
  setUp(options, llm(job), async () => undefined);

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

/** The page of one workflow in the Temporal UI. */
export const workflowPage = ({ temporal }: Pick<TestCluster, 'temporal'>, workflowId: string): string =>
  `${temporal.uiUrl}/namespaces/${temporal.namespace}/workflows/${encodeURIComponent(workflowId)}`;
