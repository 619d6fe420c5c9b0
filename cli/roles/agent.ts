import { Gauge, type Registry } from 'prom-client';
import { startAgent } from '../../agent/index.ts';
import type { AgentStatus } from '../../agent/index.ts';
import { nodeName } from '../../agent/node-name.ts';
import type { AgentSettings } from '../../contract/settings.schema.ts';
import type { ExitName } from '../command.ts';
import type { Environment } from '../environment.ts';
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
    measure(registry, () => agent.status());
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

function measure(registry: Registry, status: () => AgentStatus): void {
  const gauge = (name: string, help: string, read: (status: AgentStatus) => number) =>
    new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        this.set(read(status()));
      },
    });
  gauge('kcover_agent_spool_waiting', 'Reports that the controller has not taken yet', ({ spool }) => spool.waiting);
  gauge('kcover_agent_spool_dropped', 'Reports that a full spool dropped since the start', ({ spool }) => spool.dropped);
  gauge('kcover_agent_spool_on_disk', '1 while the spool can be written to disk', ({ spool }) => Number(spool.onDisk));
  gauge('kcover_agent_report_failures', 'Failed tries to report, in a row', ({ reporter }) => reporter.failures);
  new Gauge({
    name: 'kcover_agent_detector_blind',
    help: '1 while a detector cannot see',
    labelNames: ['detector'],
    registers: [registry],
    collect() {
      for (const [detector, { state }] of Object.entries(status().detectors)) this.set({ detector }, Number(state === 'blind'));
    },
  });
}
