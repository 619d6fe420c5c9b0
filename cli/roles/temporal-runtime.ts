/** Configures the native core of Temporal's SDK: it logs to our log, and serves its metrics on a loopback port. */

import { createServer } from 'node:net';
import { DefaultLogger, Runtime } from '@temporalio/worker';
import type { LogEntry } from '@temporalio/worker';
import type { Logger } from 'pino';
import { fetch } from 'undici';

const levels = { TRACE: 'trace', DEBUG: 'debug', INFO: 'info', WARN: 'warn', ERROR: 'error' } as const;

/** Logger for the bundler, which logs every module. */
export const quietLogger = (log: Logger): DefaultLogger =>
  new DefaultLogger('WARN', ({ level, message, meta }: LogEntry) => log[levels[level]]({ ...meta }, message));

/** Names and units as Prometheus wants them, and as kcover's own metrics have them. */
const conventions = { countersTotalSuffix: true, unitSuffix: true, useSecondsForDurations: true } as const;

/** Must be called before any other use of the native core. Returns a function that reads its metrics. */
export async function installRuntime(log: Logger): Promise<() => Promise<string>> {
  const bindAddress = `127.0.0.1:${await freePort()}`;
  const said = log.child({ from: 'temporal' });
  const logger = new DefaultLogger(
    log.isLevelEnabled('debug') ? 'DEBUG' : 'INFO',
    ({ level, message, meta }: LogEntry) => said[levels[level]]({ ...meta }, message),
  );
  Runtime.install({
    logger,
    // The role shuts its workers down itself.
    shutdownSignals: [],
    telemetryOptions: {
      logging: { filter: { core: 'WARN', other: 'ERROR' }, forward: {} },
      metrics: { prometheus: { bindAddress, ...conventions } },
    },
  });
  return () => metricsAt(`http://${bindAddress}/metrics`);
}

/** Metrics of the core; empty when they cannot be read, so that the others are still served. */
async function metricsAt(url: string): Promise<string> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(1000) });
    return response.ok ? await response.text() : '';
  } catch {
    return '';
  }
}

const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0));
    });
  });
