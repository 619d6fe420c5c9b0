import { join } from 'node:path';
import { connect, type Api } from './api.ts';
import { installDefinitions, installTrainingOperator } from './definitions.ts';
import { endOf, stopOnSignals } from './ending.ts';
import { type ApiAddress, writeKubeconfig } from './kubeconfig.ts';
import { createNodes, type NodeNames, type SimulatedNode } from './nodes.ts';
import { obtainNodePrograms, type NodePrograms } from './parts/node-programs.ts';
import { obtainPrograms, type Programs } from './parts/programs.ts';
import { prepareGround } from './real-nodes/ground.ts';
import type { RealNode } from './real-nodes/real-node.ts';
import { startRealNodes } from './real-nodes/real-nodes.ts';
import { createRunDirectory, sweep } from './run-directory.ts';
import { apiserver, apiserverCertificate, auditLogOf } from './servers/apiserver.ts';
import { controllerManager, scheduler } from './servers/controllers.ts';
import { createCredentials, users, type ControlPlaneComponent } from './servers/credentials.ts';
import { etcd } from './servers/etcd.ts';
import { kwok, podLogOf } from './servers/kwok.ts';
import { Ports } from './servers/ports.ts';
import type { Server } from './servers/server.ts';
import { temporal, temporalNamespace } from './servers/temporal.ts';
import { trainingOperator } from './servers/training-operator.ts';
import { accountToken, podToken, type PodRef, type ServiceAccountRef } from './tokens.ts';

export { stopOnSignals };

export interface TestClusterOptions {
  readonly nodes: number;
  /**
   * Nodes with kubelets and containers of their own, beside the simulated ones. Needs root. The servers then listen where real pods reach
   * them, at an address of this computer that only it and its nodes have.
   */
  readonly realNodes?: number;
  /** Containers of the first real node see the kernel log of the host, which is shared; those of other nodes see a file of their node. */
  readonly realKernelLog?: boolean;
  /** Added to the configuration of the kubelets of real nodes. */
  readonly kubelet?: Readonly<Record<string, unknown>>;
  /** An image with `nslookup` that the real nodes have: the training operator adds it to worker pods, which wait in it for their master. */
  readonly initContainerImage?: string;
  /**
   * Nodes stay ready however long their simulated kubelets are silent: repeated kills of the API server can silence them, unlike real kubelets, and
   * pods that were marked not ready meanwhile stay so.
   */
  readonly patientWithNodes?: boolean;
  /** Controller manager and scheduler have no request limits: for measuring kcover beside them. */
  readonly fastControllers?: boolean;
  /** Users of whom the audit log has reads and Events too. */
  readonly auditAllOf?: readonly string[];
  readonly gpusPerNode?: number;
  /** `cloud` by default. */
  readonly nodeNames?: NodeNames;
  readonly onProgress?: (line: string) => void;
  /** Added to the values that every test cluster sets (servers/temporal.ts), or replacing them. */
  readonly temporalDynamicConfig?: Readonly<Record<string, unknown>>;
  /** Keep logs and data after `stop`. */
  readonly keepDirectory?: boolean;
}

export type ServerName =
  | 'etcd'
  | 'apiserver'
  | 'controllerManager'
  | 'scheduler'
  | 'kwok'
  | 'trainingOperator'
  | 'temporal';

/** A real Temporal server and a real Kubernetes control plane with simulated GPU nodes. */
export interface TestCluster {
  /** Directory of everything: logs, data, nodes. */
  readonly directory: string;
  /** The cluster as its administrator. */
  readonly api: Api;
  readonly kubernetes: {
    readonly server: string;
    /** Path; administrator. */
    readonly kubeconfig: string;
    /** PEM file. */
    readonly authority: string;
    /** Path of a kubeconfig for an existing service account, valid for 24 h; directly to the server by default. */
    kubeconfigFor(serviceAccount: ServiceAccountRef, through?: ApiAddress): Promise<string>;
    podToken(pod: PodRef, serviceAccount: string, audience: string): Promise<string>;
    readonly auditLog: string;
    /** The log that `kubectl logs` shows for every pod. */
    readonly podLog: string;
  };
  readonly temporal: { readonly address: string; readonly uiUrl: string; readonly namespace: string };
  readonly nodes: readonly SimulatedNode[];
  readonly realNodes: readonly RealNode[];
  readonly servers: Readonly<Record<ServerName, Server>>;
  /** Ends every process and removes the directory. Safe to repeat. */
  stop(): Promise<void>;
}

export async function startTestCluster(options: TestClusterOptions): Promise<TestCluster> {
  const onProgress = options.onProgress ?? (() => undefined);
  // A user other than root gets the error before anything is built.
  const nodePrograms = options.realNodes ? await obtainNodePrograms(onProgress) : undefined;
  const programs = await obtainPrograms(onProgress);
  await sweep();
  const directory = createRunDirectory();
  const ports = new Ports(directory);
  const end = endOf(directory, ports, options.keepDirectory ?? false);
  const forget = stopOnSignals({ stop: end });
  try {
    return await build(options, { ...programs, node: nodePrograms }, directory, ports, end);
  } catch (error) {
    await end();
    throw error;
  } finally {
    forget();
  }
}

type AllPrograms = Programs & { readonly node: NodePrograms | undefined };

async function build(
  options: TestClusterOptions,
  programs: AllPrograms,
  directory: string,
  ports: Ports,
  stop: () => Promise<void>,
): Promise<TestCluster> {
  const ground = programs.node && (await prepareGround(directory, ports));
  const address = ground?.network.host ?? '127.0.0.1';
  const credentials = createCredentials(directory);
  const port = {
    etcd: await ports.take(),
    apiserver: await ports.take(),
    temporal: await ports.take(),
    temporalUi: await ports.take(),
  };
  const server = `https://${address}:${port.apiserver}`;

  const temporalServer = temporal({
    program: programs.temporal,
    directory,
    address,
    port: port.temporal,
    uiPort: port.temporalUi,
    httpPort: await ports.take(),
    metricsPort: await ports.take(),
    dynamicConfig: options.temporalDynamicConfig ?? {},
  });
  const startingTemporal = temporalServer.start();
  startingTemporal.catch(() => undefined); // awaited below; until then a rejection must not count as unhandled

  const etcdServer = etcd({ program: programs.etcd, directory, port: port.etcd, peerPort: await ports.take() });
  const apiServer = apiserver({
    program: programs.kubeApiserver,
    directory,
    port: port.apiserver,
    etcdPort: port.etcd,
    credentials,
    address,
    auditAllOf: options.auditAllOf ?? [],
    kubelets: ground && { authority: ground.authority.file, ...ground.kubeletClient },
  });
  await etcdServer.start();
  await apiServer.start();

  const authority = apiserverCertificate(directory).certificate;
  const kubeconfigOf = (component: ControlPlaneComponent): string =>
    writeKubeconfig({
      file: join(directory, `${component}.kubeconfig`),
      server,
      authority,
      user: users[component],
      token: credentials.tokens[component],
    });
  const kubeconfig = kubeconfigOf('admin');
  const api = connect(kubeconfig);
  const controller = async (component: ControlPlaneComponent, program: string) => ({
    program,
    directory,
    kubeconfig: kubeconfigOf(component),
    port: await ports.take(),
  });

  const servers = {
    etcd: etcdServer,
    apiserver: apiServer,
    temporal: temporalServer,
    controllerManager: controllerManager({
      patientWithNodes: options.patientWithNodes ?? false,
      fast: options.fastControllers ?? false,
      ...(await controller('controllerManager', programs.kubeControllerManager)),
      serviceAccountKey: credentials.serviceAccountKey,
      authority: ground && authority,
    }),
    scheduler: scheduler({
      fast: options.fastControllers ?? false,
      ...(await controller('scheduler', programs.kubeScheduler)),
    }),
    kwok: kwok({
      ...(await controller('kwok', programs.kwok)),
      api,
      serving: ground?.simulatedKubelet ?? apiserverCertificate(directory),
    }),
    trainingOperator: trainingOperator({
      ...(await controller('trainingOperator', programs.trainingOperator)),
      metricsPort: await ports.take(),
      webhookPort: await ports.take(),
      initContainerImage: options.initContainerImage,
    }),
  } satisfies Record<ServerName, Server>;

  const admin = { server, token: credentials.tokens.admin };
  const installing = installTrainingOperator(api, { ...admin, definitions: programs.customResourceDefinitions });
  const [nodes] = await Promise.all([
    createNodes(api, {
      directory,
      count: options.nodes,
      gpus: options.gpusPerNode ?? 8,
      names: options.nodeNames ?? 'cloud',
    }),
    installing.then(() => servers.trainingOperator.start()),
    installDefinitions(api, { ...admin, definitions: programs.setDefinitions }),
    ...[servers.controllerManager, servers.scheduler, servers.kwok].map((each) => each.start()),
    startingTemporal,
  ]);
  const realNodes =
    programs.node && ground
      ? await startRealNodes({
          directory,
          programs: programs.node,
          ground,
          apiAddress: { server, authority },
          api,
          count: options.realNodes ?? 0,
          gpus: options.gpusPerNode ?? 8,
          realKernelLog: options.realKernelLog ?? false,
          kubelet: options.kubelet ?? {},
          dnsPort: await ports.take(),
        })
      : [];

  return {
    directory,
    api,
    kubernetes: {
      server,
      kubeconfig,
      auditLog: auditLogOf(directory),
      podLog: podLogOf(directory),
      podToken: (pod, serviceAccount, audience) => podToken(api, pod, serviceAccount, audience),
      authority,
      kubeconfigFor: async (account, through = { server, authority }) => {
        const user = `${account.namespace}-${account.name}`;
        return writeKubeconfig({
          ...through,
          file: join(directory, `${user}.kubeconfig`),
          user,
          token: await accountToken(api, account),
        });
      },
    },
    temporal: {
      address: `${address}:${port.temporal}`,
      uiUrl: `http://${address}:${port.temporalUi}`,
      namespace: temporalNamespace,
    },
    nodes,
    realNodes,
    servers,
    stop,
  };
}
