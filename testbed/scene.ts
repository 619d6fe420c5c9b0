import { type RunningJob, awaitRunning, createJob } from './jobs.ts';
import { type KubeflowJobManifest, type PytorchJobOptions, pytorchJob } from './job-manifests.ts';
import { type Kcover, type KcoverOptions, startKcover } from './roles.ts';
import { type World, type WorldOptions, startWorld, stopOnSignals } from './world.ts';

/** All of it runs on one machine, and the first report of a cold one may take longer than 500 ms. A fault of the node ends this wait at once. */
const patient = { correlation: '5s' } as const;

/** A world in which kcover looks after a training job. */
export interface Scene {
  readonly world: World;
  readonly kcover: Kcover;
  readonly job: RunningJob;
}

export type SceneOptions = WorldOptions & KcoverOptions & { readonly tell: (line: string) => void };

/** Sets everything up until the job runs, telling each part as it is done. Ctrl-C ends it at any time and leaves nothing behind. */
export const setScene = (options: SceneOptions, job: Omit<PytorchJobOptions, 'name'> = { workers: 3 }): Promise<Scene> =>
  setUp(options, llm(job), awaitRunning);

/** The same, until a job of this shape is created: its pods have not begun. */
export const setSceneBefore = (options: SceneOptions, job: Omit<PytorchJobOptions, 'name'>): Promise<Scene> => setUp(options, llm(job), async () => undefined);

const llm = (options: Omit<PytorchJobOptions, 'name'>): KubeflowJobManifest =>
  pytorchJob({ ...options, name: 'llm', namespace: 'train', labels: { 'kcover.io/cascading-recovery': 'true' } });

async function setUp(options: SceneOptions, manifest: KubeflowJobManifest, begun: (api: World['api'], job: RunningJob) => Promise<unknown>): Promise<Scene> {
  const { tell } = options;
  const world = await startWorld({ ...options, nodeNames: 'short', onProgress: tell });
  stopOnSignals(world);
  try {
    tell(`Temporal and Kubernetes run, with ${world.nodes.length} simulated GPU nodes; starting kcover`);
    const { recovery, ...workerSettings } = options.workerSettings ?? {};
    const kcover = await startKcover(world, {
      ...options,
      workerSettings: { ...workerSettings, recovery: { ...patient, ...(recovery as object | undefined) } },
    });
    tell(`kcover runs: ${kcover.workers.length} worker, 1 controller, ${kcover.agents.size} agents`);
    await world.api.core.createNamespace({ body: { metadata: { name: 'train' } } });
    const job = await createJob(world.api, manifest);
    await begun(world.api, job);
    return { world, kcover, job };
  } catch (error) {
    await world.stop();
    throw error;
  }
}

/** The page of one workflow in the Temporal UI. */
export const workflowPage = ({ temporal }: Pick<World, 'temporal'>, workflowId: string): string =>
  `${temporal.uiUrl}/namespaces/${temporal.namespace}/workflows/${encodeURIComponent(workflowId)}`;
