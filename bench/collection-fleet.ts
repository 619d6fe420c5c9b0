/** Thousands of nodes without kubelets, and on each the courier of the real agent: files, projected token and connection of its own, all in this process. */

import { randomUUID } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { type ControllerConnection, connectController } from '../agent/controller-connection.ts';
import { type PreflightUploader, startPreflightUploader } from '../agent/preflight/uploader.ts';
import { reportFiles } from '../agent/preflight/files.ts';
import { inParallel } from '../kube/parallel.ts';
import { agentAccount, agentAudience, agentNamespace } from '../testbed/agents.ts';
import type { Kcover } from '../testbed/roles.ts';
import { podToken } from '../testbed/tokens.ts';
import { type WaitResult, until } from '../testbed/until.ts';
import type { TestCluster } from '../testbed/test-cluster.ts';

export interface FleetNode {
  readonly name: string;
  readonly hostRoot: string;
  readonly address: string;
}

/** Requests of ours at once. */
export const atOnce = 48;
/** Each courier looks when it starts; a look every second by thousands of them would be most of the load. Failures are tried again sooner. */
const everyMs = 5000;

export class NodeFleet {
  readonly #cluster: TestCluster;
  readonly #kcover: Kcover;
  readonly #nodes: FleetNode[] = [];
  readonly #connections = new Map<string, ControllerConnection>();

  constructor(cluster: TestCluster, kcover: Kcover) {
    this.#cluster = cluster;
    this.#kcover = kcover;
  }

  /** The first so many nodes, made where they are missing. */
  async nodes(count: number): Promise<readonly FleetNode[]> {
    const missing = Array.from({ length: Math.max(0, count - this.#nodes.length) }, (_, index) => this.#nodes.length + index);
    this.#nodes.push(...(await inParallel(missing, (index) => this.#create(index), atOnce)));
    return this.#nodes.slice(0, count);
  }

  /** A heartbeat of every node, as agents send it every ten seconds: they are connected, and the controller knows their tokens for a minute. */
  async greet(nodes: readonly FleetNode[]): Promise<void> {
    await inParallel(nodes, (node) => until(`heartbeat of ${node.name}`, 60_000, () => this.#beat(node)), atOnce);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#connections.values()].map((connection) => connection.close()));
  }

  /** Starts a courier on each of the nodes, evenly over so many ms. */
  async send(nodes: readonly FleetNode[], overMs: number): Promise<PreflightUploaders> {
    const uploaders = new PreflightUploaders();
    const slices = overMs === 0 ? 1 : Math.ceil(overMs / 100);
    for (let slice = 0; slice < slices; slice++) {
      const from = Math.floor((slice * nodes.length) / slices);
      for (const node of nodes.slice(from, Math.floor(((slice + 1) * nodes.length) / slices))) uploaders.add(this.#uploader(node));
      if (overMs > 0) await sleep(100);
    }
    return uploaders;
  }

  async #beat(node: FleetNode): Promise<WaitResult<true>> {
    const batch = { schema: 1, node: node.name, bootId: randomUUID(), stream: randomUUID(), reports: [], gaps: [] } as const;
    const answer = await this.#connectionOf(node).post(batch, AbortSignal.timeout(10_000));
    return answer.kind === 'accepted' ? { found: true } : { missing: answer.because };
  }

  #connectionOf(node: FleetNode): ControllerConnection {
    const { intakeUrl, authority } = this.#kcover;
    const connection = this.#connections.get(node.name) ?? connectController({ url: intakeUrl, caFile: authority, tokenFile: tokenFileOf(node) }, 'bench');
    this.#connections.set(node.name, connection);
    return connection;
  }

  #uploader(node: FleetNode): PreflightUploader {
    const log = pino({ level: 'silent' });
    const stateDirectory = join(node.hostRoot, 'state');
    return startPreflightUploader({ files: reportFiles(node.hostRoot), connection: this.#connectionOf(node), node: node.name, stateDirectory, everyMs, log });
  }

  async #create(index: number): Promise<FleetNode> {
    const { api, directory } = this.#cluster;
    const name = `fleet-${index}`;
    const hostRoot = join(directory, 'fleet', name);
    mkdirSync(join(hostRoot, 'state'), { recursive: true });
    const resources = { cpu: '192', memory: '2Ti', pods: '110', 'nvidia.com/gpu': '8' };
    const conditions = [{ type: 'Ready', status: 'True', reason: 'KubeletReady', lastHeartbeatTime: new Date(), lastTransitionTime: new Date() }];
    await api.core.createNode({ body: { metadata: { name }, status: { capacity: resources, allocatable: resources, conditions } } });
    const node = { name, hostRoot, address: `10.${128 + (index >> 16)}.${(index >> 8) & 255}.${index & 255}` };
    const body = {
      metadata: { name: `agent-${name}` },
      spec: {
        nodeName: name,
        serviceAccountName: agentAccount,
        tolerations: [{ operator: 'Exists' }],
        containers: [{ name: 'agent', image: 'kcover:testbed' }],
      },
    };
    const { metadata } = await api.core.createNamespacedPod({ namespace: agentNamespace, body });
    const pod = { namespace: agentNamespace, name: body.metadata.name, uid: metadata?.uid ?? '' };
    writeFileSync(tokenFileOf(node), await podToken(api, pod, agentAccount, agentAudience), { mode: 0o600 });
    return node;
  }
}

const tokenFileOf = ({ hostRoot }: Pick<FleetNode, 'hostRoot'>): string => join(hostRoot, 'token');

/** All that bring the reports of one round. */
export class PreflightUploaders {
  readonly #all: PreflightUploader[] = [];

  add(uploader: PreflightUploader): void {
    this.#all.push(uploader);
  }

  /** Files whose agent was told that Temporal has them, and those that were refused. */
  get accepted(): number {
    return this.#all.reduce((sum, uploader) => sum + uploader.status().accepted, 0);
  }

  get refused(): number {
    return this.#all.reduce((sum, uploader) => sum + [...uploader.status().refused.values()].reduce((count, each) => count + each, 0), 0);
  }

  async stop(): Promise<void> {
    await Promise.all(this.#all.map((uploader) => uploader.stop()));
  }
}
