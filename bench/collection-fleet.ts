/** Thousands of nodes without kubelets, each with the real agent's uploader: files, projected token and connection of its own, all in this process. */

import { randomUUID } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { type ControllerConnection, connectController } from '../agent/upload/connection.ts';
import { type PreflightUploader, startPreflightUploader } from '../agent/preflight/uploader.ts';
import { reportFiles } from '../agent/preflight/files.ts';
import { inParallel } from '../kube/client/parallel.ts';
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

/** Concurrent requests of the benchmark. */
export const atOnce = 48;
/** Each uploader looks for files when it starts; polling every second on thousands of nodes would be most of the load. Failures are retried sooner. */
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

  /** The first `count` nodes, created where they are missing. */
  async nodes(count: number): Promise<readonly FleetNode[]> {
    const missing = Array.from(
      { length: Math.max(0, count - this.#nodes.length) },
      (_, index) => this.#nodes.length + index,
    );
    this.#nodes.push(...(await inParallel(missing, (index) => this.#create(index), atOnce)));
    return this.#nodes.slice(0, count);
  }

  /** Sends a heartbeat of every node, as agents do every ten seconds, so that they are connected and the controller caches their tokens for a minute. */
  async greet(nodes: readonly FleetNode[]): Promise<void> {
    await inParallel(nodes, (node) => until(`heartbeat of ${node.name}`, 60_000, () => this.#beat(node)), atOnce);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#connections.values()].map((connection) => connection.close()));
  }

  /** Starts an uploader on each of the nodes, spread evenly over `overMs`. */
  async send(nodes: readonly FleetNode[], overMs: number): Promise<PreflightUploaders> {
    const uploaders = new PreflightUploaders();
    const slices = overMs === 0 ? 1 : Math.ceil(overMs / 100);
    for (let slice = 0; slice < slices; slice++) {
      const from = Math.floor((slice * nodes.length) / slices);
      for (const node of nodes.slice(from, Math.floor(((slice + 1) * nodes.length) / slices)))
        uploaders.add(this.#uploader(node));
      if (overMs > 0) await sleep(100);
    }
    return uploaders;
  }

  async #beat(node: FleetNode): Promise<WaitResult<true>> {
    const batch = {
      schema: 1,
      node: node.name,
      bootId: randomUUID(),
      stream: randomUUID(),
      reports: [],
      gaps: [],
    } as const;
    const answer = await this.#connectionOf(node).post(batch, AbortSignal.timeout(10_000));
    return answer.kind === 'accepted' ? { found: true } : { missing: answer.because };
  }

  #connectionOf(node: FleetNode): ControllerConnection {
    const { intakeUrl, authority } = this.#kcover;
    const connection =
      this.#connections.get(node.name) ??
      connectController({ url: intakeUrl, caFile: authority, tokenFile: tokenFileOf(node) }, 'bench');
    this.#connections.set(node.name, connection);
    return connection;
  }

  #uploader(node: FleetNode): PreflightUploader {
    const log = pino({ level: 'silent' });
    const stateDirectory = join(node.hostRoot, 'state');
    return startPreflightUploader({
      files: reportFiles(node.hostRoot),
      connection: this.#connectionOf(node),
      node: node.name,
      stateDirectory,
      everyMs,
      log,
    });
  }

  async #create(index: number): Promise<FleetNode> {
    const { api, directory } = this.#cluster;
    const name = `fleet-${index}`;
    const hostRoot = join(directory, 'fleet', name);
    mkdirSync(join(hostRoot, 'state'), { recursive: true });
    const resources = { cpu: '192', memory: '2Ti', pods: '110', 'nvidia.com/gpu': '8' };
    const conditions = [
      {
        type: 'Ready',
        status: 'True',
        reason: 'KubeletReady',
        lastHeartbeatTime: new Date(),
        lastTransitionTime: new Date(),
      },
    ];
    await api.core.createNode({
      body: { metadata: { name }, status: { capacity: resources, allocatable: resources, conditions } },
    });
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

/** The uploaders of one round. */
export class PreflightUploaders {
  readonly #all: PreflightUploader[] = [];

  add(uploader: PreflightUploader): void {
    this.#all.push(uploader);
  }

  /** Number of files that the controller confirmed as stored in Temporal, and of refused files. */
  get accepted(): number {
    return this.#all.reduce((sum, uploader) => sum + uploader.status().accepted, 0);
  }

  get refused(): number {
    return this.#all.reduce(
      (sum, uploader) => sum + [...uploader.status().refused.values()].reduce((count, each) => count + each, 0),
      0,
    );
  }

  async stop(): Promise<void> {
    await Promise.all(this.#all.map((uploader) => uploader.stop()));
  }
}
