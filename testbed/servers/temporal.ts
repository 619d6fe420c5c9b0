import { join } from 'node:path';
import { Connection } from '@temporalio/client';
import { server, type Server } from './server.ts';

export interface TemporalServerOptions {
  readonly program: string;
  readonly directory: string;
  /** Address for clients; loopback by default. */
  readonly address?: string;
  readonly port: number;
  readonly uiPort: number;
  readonly httpPort: number;
  readonly metricsPort: number;
  readonly dynamicConfig: Readonly<Record<string, unknown>>;
}

const loopback = '127.0.0.1';

export const temporalNamespace = 'default';

const searchAttributes = {
  KcoverNamespace: 'Keyword',
  KcoverJob: 'Keyword',
  KcoverNode: 'KeywordList',
  KcoverPhase: 'Keyword',
  KcoverFault: 'Keyword',
  KcoverOutcome: 'Keyword',
};

const dynamicConfigDefaults = {
  // The default of 20 polls per second and shard would delay every step of a workflow by up to 50 ms.
  'history.transferProcessorMaxPollRPS': 1000,
  'frontend.WorkflowTimeSkippingEnabled': true,
  'history.timerProcessorMaxTimeShift': '10ms',
};

export function temporal({
  program,
  directory,
  address = loopback,
  port,
  uiPort,
  httpPort,
  metricsPort,
  dynamicConfig,
}: TemporalServerOptions): Server {
  const flags = (name: string, values: object): string[] =>
    Object.entries(values).flatMap(([key, value]) => [name, `${key}=${value}`]);
  const json = Object.fromEntries(
    Object.entries({ ...dynamicConfigDefaults, ...dynamicConfig }).map(([key, value]) => [key, JSON.stringify(value)]),
  );
  return server(directory, {
    name: 'temporal',
    program,
    args: [
      'server',
      'start-dev',
      // Its services connect to each other on the loopback, wherever it listens, so another address requires listening on all of them.
      `--ip=${address === loopback ? loopback : '0.0.0.0'}`,
      `--port=${port}`,
      `--ui-port=${uiPort}`,
      `--http-port=${httpPort}`,
      `--metrics-port=${metricsPort}`,
      `--db-filename=${join(directory, 'temporal.sqlite')}`,
      ...flags('--sqlite-pragma', { journal_mode: 'WAL', synchronous: 'NORMAL' }),
      ...flags('--dynamic-config-value', json),
      ...flags('--search-attribute', searchAttributes),
    ],
    kept: true,
    missing: () => missing(`${address}:${port}`),
  });
}

async function missing(address: string): Promise<string | undefined> {
  try {
    const connection = await Connection.connect({ address, connectTimeout: 2000 });
    try {
      const { customAttributes } = await connection.operatorService.listSearchAttributes({
        namespace: temporalNamespace,
      });
      const absent = Object.keys(searchAttributes).filter((name) => customAttributes?.[name] === undefined);
      return absent.length === 0 ? undefined : `search attributes ${absent.join(', ')}`;
    } finally {
      await connection.close();
    }
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
