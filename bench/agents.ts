/** The real agent, many times in this one process: a process for each node would be most of the load on a small machine. */

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { type RunningAgent, startAgent } from '../agent/index.ts';
import { agentSettings } from '../contract/settings.schema.ts';
import { inParallel } from '../kube/parallel.ts';
import { agentToken } from '../testbed/agents.ts';
import type { SimulatedNode } from '../testbed/nodes.ts';
import type { Kcover } from '../testbed/roles.ts';
import { until } from '../testbed/until.ts';
import type { World } from '../testbed/world.ts';

export class Agents {
  readonly #world: World;
  readonly #kcover: Kcover;
  readonly #running = new Map<string, RunningAgent>();

  constructor(world: World, kcover: Kcover) {
    this.#world = world;
    this.#kcover = kcover;
  }

  /** Each of the nodes has an agent that reads its kernel log and was heard by the controller. Safe to repeat. */
  async watch(nodes: readonly SimulatedNode[]): Promise<void> {
    const fresh = nodes.filter(({ name }) => !this.#running.has(name));
    await inParallel(fresh, (node) => this.#start(node), 8);
    await until(`agents of ${fresh.length} nodes heard`, 120_000, () => {
      const deaf = fresh.filter(({ name }) => !isHeard(this.#running.get(name)));
      return Promise.resolve(deaf.length === 0 ? { found: true } : { missing: `${deaf.length} not yet, among them ${deaf[0]?.name}` });
    });
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#running.values()].map((agent) => agent.stop()));
  }

  async #start(node: SimulatedNode): Promise<void> {
    const home = join(this.#world.directory, 'kcover', 'agents', node.name);
    mkdirSync(home, { recursive: true });
    const tokenFile = join(home, 'token');
    writeFileSync(tokenFile, await agentToken(this.#world.api, node), { mode: 0o600 });
    const { intakeUrl, authority } = this.#kcover;
    const settings = agentSettings.parse({
      controller: { url: intakeUrl, caFile: authority, tokenFile },
      spool: { directory: join(home, 'spool') },
    });
    const log = pino({ level: 'silent' });
    this.#running.set(node.name, await startAgent({ settings, node: node.name, hostRoot: node.hostRoot, version: 'bench', log }));
  }
}

function isHeard(agent: RunningAgent | undefined): boolean {
  const status = agent?.status();
  return status?.reporter.lastAcceptedAt !== undefined && Object.values(status.detectors).every(({ state }) => state === 'watching');
}
