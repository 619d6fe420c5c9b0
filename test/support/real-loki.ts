/** A real Loki of this test file, and its push API. */

import { rmSync } from 'node:fs';
import { createRunDirectory } from '../../testbed/run-directory.ts';
import { loki } from '../../testbed/servers/loki.ts';
import { Ports } from '../../testbed/servers/ports.ts';
import type { Server } from '../../testbed/servers/server.ts';
import type { StoredLine } from './loki-server.ts';

export const tenant = 'cluster-1';

export interface RealLoki {
  readonly url: string;
  readonly server: Server;
  /** Resolves when Loki has stored them. */
  push(...lines: readonly StoredLine[]): Promise<void>;
  close(): Promise<void>;
}

export async function startRealLoki(): Promise<RealLoki> {
  const directory = createRunDirectory();
  const ports = new Ports(directory);
  const [port, grpcPort] = [await ports.take(), await ports.take()];
  const program = process.env['KCOVER_TEST_LOKI'] ?? '';
  const server = loki({ program, directory, port, grpcPort });
  const url = `http://127.0.0.1:${port}`;
  await server.start();
  return {
    url,
    server,
    async push(...lines) {
      const response = await fetch(`${url}/loki/api/v1/push`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'X-Scope-OrgID': tenant },
        body: JSON.stringify({ streams: lines.map(streamOf) }),
      });
      if (response.status !== 204) throw new Error(`Loki answered ${response.status}: ${await response.text()}`);
    },
    async close() {
      await server.stop();
      ports.release();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

const streamOf = ({ at, line, stream, metadata }: StoredLine): object => ({
  stream,
  values: [metadata ? [`${at}`, line, metadata] : [`${at}`, line]],
});
