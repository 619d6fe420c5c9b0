import { startAgent } from '../../agent/index.ts';
import { nodeName } from '../../agent/node-name.ts';
import type { AgentSettings } from '../../contract/settings.schema.ts';
import type { ExitName } from '../command.ts';
import type { Environment } from '../environment.ts';
import { agentMetrics } from './agent-metrics.ts';
import { inRole } from './role.ts';

export interface AgentRole {
  readonly settings: AgentSettings;
  readonly environment: Environment;
  readonly hostRoot: string;
  readonly node: string | undefined;
}

export const runAgent = ({ settings, environment, hostRoot, node }: AgentRole): Promise<ExitName> =>
  inRole('agent', settings, environment, async ({ log, registry, stopping, readiness }) => {
    const { NODE_NAME, FAST_RECOVERY_NODE_NAME } = environment.variables;
    const name = node ?? nodeName({ NODE_NAME, FAST_RECOVERY_NODE_NAME, hostname: environment.hostname });
    const agent = await startAgent({ settings, node: name, hostRoot, version: environment.version, log: log.child({ node: name }) });
    agentMetrics(registry, () => agent.status());
    readiness(undefined);
    await aborted(stopping);
    await agent.stop();
    return 'ok';
  });

/** Resolves when the signal is given. */
const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
