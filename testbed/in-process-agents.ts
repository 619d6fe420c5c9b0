/** Runs the real agent many times in this one process: a process for each node would be most of the load on a small machine. */

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { type RunningAgent, startAgent } from '../agent/index.ts';
import { agentSettings } from '../contract/settings/settings.schema.ts';
import { inParallel } from '../kube/client/parallel.ts';
import { type AgentNode, agentToken } from './agents.ts';
import type { Kcover } from './roles.ts';
import { until } from './until.ts';
import type { TestCluster } from './test-cluster.ts';

type AgentSettingsFile = Readonly<Record<string, unknown>>;

export class InProcessAgents {
  readonly #cluster: Pick<TestCluster, 'directory' | 'api'>;
  readonly #kcover: Pick<Kcover, 'intakeUrl' | 'authority'>;
  readonly #settings: AgentSettingsFile;
  readonly #running = new Map<string, RunningAgent>();

  /** `settings`: in place of their defaults. */
  constructor(
    cluster: Pick<TestCluster, 'directory' | 'api'>,
    kcover: Pick<Kcover, 'intakeUrl' | 'authority'>,
    settings: AgentSettingsFile = {},
  ) {
    this.#cluster = cluster;
    this.#kcover = kcover;
    this.#settings = settings;
  }

  /** Starts an agent for each of the nodes and waits until the controller has seen them all. Safe to repeat. */
  async watch(nodes: readonly AgentNode[]): Promise<void> {
    const fresh = nodes.filter(({ name }) => !this.#running.has(name));
    await inParallel(fresh, (node) => this.#start(node), 8);
    await until(`agents of ${fresh.length} nodes seen`, 120_000, () => {
      const unseen = fresh.filter(({ name }) => !isLive(this.#running.get(name)));
      return Promise.resolve(
        unseen.length === 0 ? { found: true } : { missing: `${unseen.length} not yet, among them ${unseen[0]?.name}` },
      );
    });
  }

  /** Waits until the controller has seen every agent after this time. */
  async seenSince(time: Date): Promise<void> {
    await until('all agents seen again', 120_000, () => {
      const unseen = [...this.#running].filter(
        ([, agent]) => Date.parse(agent.status().reporter.lastAcceptedAt ?? '1970-01-01') <= time.getTime(),
      );
      return Promise.resolve(
        unseen.length === 0 ? { found: true } : { missing: `${unseen.length} not yet, among them ${unseen[0]?.[0]}` },
      );
    });
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#running.keys()].map((name) => this.leave(name)));
  }

  /** Stops the agent of this node, if it has one; `watch` starts it again. */
  async leave(node: string): Promise<void> {
    await this.#running.get(node)?.stop();
    this.#running.delete(node);
  }

  async #start(node: AgentNode): Promise<void> {
    const home = join(this.#cluster.directory, 'kcover', 'agents', node.name);
    mkdirSync(home, { recursive: true });
    const tokenFile = join(home, 'token');
    writeFileSync(tokenFile, await agentToken(this.#cluster.api, node), { mode: 0o600 });
    const { intakeUrl, authority } = this.#kcover;
    const settings = agentSettings.parse({
      ...this.#settings,
      controller: { url: intakeUrl, caFile: authority, tokenFile },
      spool: { directory: join(home, 'spool') },
    });
    const log = pino({ level: 'silent' });
    this.#running.set(
      node.name,
      await startAgent({ settings, node: node.name, hostRoot: node.hostRoot, version: 'bench', log }),
    );
  }
}

function isLive(agent: RunningAgent | undefined): boolean {
  const status = agent?.status();
  return (
    status?.reporter.lastAcceptedAt !== undefined &&
    Object.values(status.detectors).every(({ state }) => state === 'watching' || state === 'off')
  );
}
