import { type AgentStatus, startAgent } from '../../agent/index.ts';
import { nodeName } from '../../agent/node-name.ts';
import type { AgentSettings } from '../../contract/settings/settings.schema.ts';
import type { ExitName } from '../program/command.ts';
import type { CliEnvironment } from '../program/environment.ts';
import { agentMetrics } from './agent-metrics.ts';
import { inRole } from './role.ts';

export interface AgentRole {
  readonly settings: AgentSettings;
  readonly environment: CliEnvironment;
  readonly hostRoot: string;
  readonly node: string | undefined;
}

export const runAgent = ({ settings, environment, hostRoot, node }: AgentRole): Promise<ExitName> =>
  inRole('agent', settings, environment, async ({ log, registry, stopping, readiness, addRemarks }) => {
    const { NODE_NAME, FAST_RECOVERY_NODE_NAME } = environment.variables;
    const name = node ?? nodeName({ NODE_NAME, FAST_RECOVERY_NODE_NAME, hostname: environment.hostname });
    const agent = await startAgent({
      settings,
      node: name,
      hostRoot,
      version: environment.version,
      log: log.child({ node: name }),
    });
    agentMetrics(registry, () => agent.status());
    addRemarks(() => remarksOn(agent.status()));
    readiness(undefined);
    await aborted(stopping);
    await agent.stop();
    return 'ok';
  });

/** Sources that the agent cannot read, and the status file that it cannot write. It stays ready, because a restarted agent could not either. */
export function remarksOn({ detectors, preflight, progress, logs, statusFile }: AgentStatus): readonly string[] {
  const unavailable = (what: string, why: string | undefined): readonly string[] =>
    why === undefined ? [] : [`${what} cannot be read: ${why}`];
  return [
    ...Object.entries(detectors).flatMap(([name, { state, because }]) =>
      unavailable(name, state === 'unavailable' ? because : undefined),
    ),
    ...unavailable('preflight reports', preflight.unavailable),
    ...unavailable('progress files', progress.unavailable),
    ...unavailable('container logs', logs.unavailable),
    ...(statusFile.unwritable === undefined ? [] : [`the status file cannot be written: ${statusFile.unwritable}`]),
  ];
}

/** Resolves when the signal aborts. */
const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
