import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ownNamespace } from '../kube/permissions.ts';
import { type AgentNode, agentToken, deployAgents, deployAgentsOnRealNodes } from './agents.ts';
import { InProcessAgents } from './in-process-agents.ts';
import { grant, grantRepair } from './rights.ts';
import { bundleWorkflows } from './bundle.ts';
import { loopbackCertificate } from './certificate.ts';
import { createControllerPods, type IntakeService, openIntakeService } from './intake-service.ts';
import type { ApiAddress } from './kubeconfig.ts';
import { compileCache } from './parts/environment.ts';
import { probe } from './servers/probe.ts';
import { Ports } from './servers/ports.ts';
import { server, type Server } from './servers/server.ts';
import type { TestCluster } from './test-cluster.ts';

export interface KcoverOptions {
  readonly mode?: 'observe' | 'act';
  /** Added to the testbed's own settings; deeper keys replace whole sections. */
  readonly workerSettings?: Readonly<Record<string, unknown>>;
  readonly controllerSettings?: Readonly<Record<string, unknown>>;
  readonly agentSettings?: Readonly<Record<string, unknown>>;
  readonly workers?: number;
  /** With more than one, agents reach the leader through the Service of the intake. */
  readonly controllers?: number;
  readonly controllerArgs?: readonly string[];
  /** Where worker and controller reach the Kubernetes API; at its server by default. */
  readonly through?: ApiAddress;
  /** All in this process, which costs much less; by default each in its own process. */
  readonly agents?: 'in-process' | 'processes';
  /** Nodes that get an agent; by default all simulated ones. */
  readonly agentsOn?: readonly AgentNode[];
  /** Bundled once and reused; by default bundled anew. */
  readonly workflowBundle?: string;
}

/** The real roles as processes, with the service accounts and rights of an installation. */
export interface Kcover {
  readonly workers: readonly Server[];
  /** The first of them. */
  readonly controller: Server;
  readonly controllers: readonly Server[];
  /** Only with several controllers. */
  readonly service: IntakeService | undefined;
  /** Agents that are processes of their own. */
  readonly agents: ReadonlyMap<string, Server>;
  readonly intakeUrl: string;
  readonly authority: string;
  /** One JSON document for each incident. */
  readonly records: string;
  /** Directory of the evidence of every attempt. */
  readonly evidence: string;
  /** Metrics of a role at `/metrics`. */
  metricsOf(role: Server): Promise<string>;
  /** For the command line: KUBECONFIG and TEMPORAL_ADDRESS of the administrator. */
  readonly environment: Readonly<Record<string, string>>;
  /** Restarts the workers with other settings; settings that are not named stay. */
  reconfigure(workerSettings: Readonly<Record<string, unknown>>): Promise<void>;
  stop(): Promise<void>;
}

type RolesCluster = Pick<TestCluster, 'directory' | 'api' | 'kubernetes' | 'temporal' | 'nodes'>;

const program = fileURLToPath(new URL('../bin/kcover.js', import.meta.url));

/** Where an agent keeps its state on a node with a disk of its own. */
const agentState = '/var/lib/kcover/agent';

/** Starts one controller, the workers and an agent for each node, and waits until all of them are ready. */
export async function startKcover(cluster: RolesCluster, options: KcoverOptions = {}): Promise<Kcover> {
  const nodes: readonly AgentNode[] = options.agentsOn ?? cluster.nodes;
  const directory = join(cluster.directory, 'kcover');
  mkdirSync(directory, { recursive: true });
  const ports = new Ports(cluster.directory);
  const [bundle, certificate] = await Promise.all([
    options.workflowBundle ?? bundleWorkflows(join(directory, 'workflows.js')),
    loopbackCertificate(directory),
    deployAgents(cluster.api, cluster.nodes).then(() => grant(cluster)),
  ]);
  if (section(options.workerSettings, 'remediation')['mode'] === 'run') await grantRepair(cluster);
  const real = nodes.filter(({ name }) => !cluster.nodes.some((simulated) => simulated.name === name));
  if (real.length > 0) await deployAgentsOnRealNodes(cluster.api, real);
  const records = join(directory, 'records');
  const evidence = join(directory, 'evidence');
  const withEvidence = (given: KcoverOptions['workerSettings']) => ({
    ...given,
    recovery: {
      ...section(given, 'recovery'),
      evidence: { directory: evidence, ...section(section(given, 'recovery'), 'evidence') },
    },
  });

  const health = new Map<string, number>();
  const role = async (
    name: string,
    kind: 'worker' | 'controller' | 'agent',
    settings: object,
    args: () => readonly string[],
    env: Record<string, string>,
  ): Promise<Server> => {
    const port = await ports.take();
    health.set(name, port);
    const file = join(directory, `${name}.yaml`);
    writeFileSync(file, JSON.stringify({ ...settings, health: { listen: `127.0.0.1:${port}` } }, null, 2));
    return server(cluster.directory, {
      name,
      program: process.execPath,
      get args() {
        return [program, kind, '--config', file, ...args()];
      },
      env: {
        ...compileCache(),
        TEMPORAL_ADDRESS: cluster.temporal.address,
        TEMPORAL_NAMESPACE: cluster.temporal.namespace,
        ...env,
      },
      kept: true,
      missing: () => probe(`http://127.0.0.1:${port}/readyz`),
    });
  };
  const account = (name: string) =>
    cluster.kubernetes.kubeconfigFor({ namespace: ownNamespace, name }, options.through);

  const workerKubeconfig = await account('kcover-worker');
  const workers = await Promise.all(
    Array.from({ length: options.workers ?? 1 }, (_, index) =>
      role(
        `worker-${index}`,
        'worker',
        { mode: options.mode ?? 'act', records: { directory: records }, ...withEvidence(options.workerSettings) },
        () => ['--workflow-bundle', bundle],
        { KUBECONFIG: workerKubeconfig },
      ),
    ),
  );
  const pods = Array.from({ length: options.controllers ?? 1 }, (_, index) => `kcover-controller-${index}`);
  await createControllerPods(cluster.api, pods);
  const controllerKubeconfig = await account('kcover-controller');
  const backends = new Map<string, number>();
  const controllers: Server[] = [];
  for (const [index, pod] of pods.entries()) {
    const port = await ports.take();
    backends.set(pod, port);
    // In the testbed all agents connect from one address.
    const limits = { connectionsFrom: 16_384 };
    const settings = {
      intake: { listen: `127.0.0.1:${port}`, tls: certificate, limits },
      ...options.controllerSettings,
    };
    const env = { KUBECONFIG: controllerKubeconfig, POD_NAME: pod, POD_NAMESPACE: ownNamespace };
    controllers.push(
      await role(
        index === 0 ? 'controller' : `controller-${index}`,
        'controller',
        settings,
        () => options.controllerArgs ?? [],
        env,
      ),
    );
  }
  const [controller] = controllers as [Server, ...Server[]];
  const front = pods.length > 1 ? await ports.take() : undefined;
  const service =
    front === undefined
      ? undefined
      : await openIntakeService({ api: cluster.api, kubeconfig: cluster.kubernetes.kubeconfig, port: front, backends });
  const intakeUrl = `https://127.0.0.1:${front ?? backends.get(pods[0] ?? '')}`;
  const agents = new Map<string, Server>();
  const agentSettings = { heartbeat: '5s', ...options.agentSettings };
  const inProcess = new InProcessAgents(cluster, { intakeUrl, authority: certificate.certFile }, agentSettings);
  for (const node of options.agents === 'in-process' ? [] : nodes) {
    const home = join(directory, 'agents', node.name);
    mkdirSync(home, { recursive: true });
    const tokenFile = join(home, 'token');
    writeFileSync(tokenFile, await agentToken(cluster.api, node), { mode: 0o600 });
    const reports = {
      controller: { url: intakeUrl, caFile: certificate.certFile, tokenFile },
      spool: { directory: node.fileOf?.(agentState) ?? join(home, 'spool') },
    };
    const settings = { ...reports, ...agentSettings };
    // A real node has another root after its containerd was started again.
    agents.set(
      node.name,
      await role(`agent-${node.name}`, 'agent', settings, () => ['--host-root', node.hostRoot], {
        NODE_NAME: node.name,
      }),
    );
  }

  const all = [...workers, ...controllers, ...agents.values()];
  await Promise.all([...workers, ...controllers].map((each) => each.start()));
  await Promise.all([...agents.values()].map((each) => each.start()));
  if (options.agents === 'in-process') await inProcess.watch(nodes);
  return {
    workers,
    controller,
    controllers,
    service,
    agents,
    intakeUrl,
    authority: certificate.certFile,
    records,
    evidence,
    metricsOf: async ({ name }) => (await fetch(`http://127.0.0.1:${health.get(name)}/metrics`)).text(),
    environment: {
      KUBECONFIG: cluster.kubernetes.kubeconfig,
      TEMPORAL_ADDRESS: cluster.temporal.address,
      TEMPORAL_NAMESPACE: cluster.temporal.namespace,
    },
    reconfigure: async (workerSettings) => {
      for (const worker of workers) {
        const file = join(directory, `${worker.name}.yaml`);
        writeFileSync(
          file,
          JSON.stringify(
            {
              ...(JSON.parse(readFileSync(file, 'utf8')) as object),
              ...(workerSettings['recovery'] ? withEvidence(workerSettings) : workerSettings),
            },
            null,
            2,
          ),
        );
        await worker.stop();
        await worker.start();
      }
    },
    stop: async () => {
      await inProcess.stop();
      if (existsSync(cluster.directory)) await Promise.all(all.map((each) => each.stop()));
      await service?.close();
    },
  };
}

/** One section of settings; empty where there is none. */
const section = (
  settings: Readonly<Record<string, unknown>> | undefined,
  name: string,
): Readonly<Record<string, unknown>> => ({
  ...(settings?.[name] as Readonly<Record<string, unknown>> | undefined),
});
