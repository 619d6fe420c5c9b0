/** A real HTTP server that behaves as each test asks for. */

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';

export interface Seen {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

export type Behaviour = (response: ServerResponse, seen: Seen) => void;

export interface UnreliableServer {
  readonly url: string;
  /** Requests of an operation, in their order. */
  seen(operation: string): readonly Seen[];
  /** How it answers requests of an operation, one after the other; the last answers all that follow. */
  behave(operation: string, ...behaviours: readonly Behaviour[]): void;
  close(): Promise<void>;
}

export async function unreliableServer(): Promise<UnreliableServer> {
  const requests = new Map<string, Seen[]>();
  const behaviours = new Map<string, readonly Behaviour[]>();
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { method = '', url = '', headers } = request;
      const operation = String(headers['idempotency-key'] ?? url.split('/').at(-1));
      const seen = { method, url, headers, body: Buffer.concat(chunks).toString('utf8') };
      const all = [...(requests.get(operation) ?? []), seen];
      requests.set(operation, all);
      const those = behaviours.get(operation) ?? [];
      const behave = those[all.length - 1] ?? those.at(-1);
      if (behave) behave(response, seen);
      else response.writeHead(500).end();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    seen: (operation) => requests.get(operation) ?? [],
    behave: (operation, ...those) => void behaviours.set(operation, those),
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** An answer with a status and a body. */
export const answers =
  (status: number, body: unknown = '', headers: Readonly<Record<string, string>> = {}): Behaviour =>
  (response) =>
    void response.writeHead(status, headers).end(typeof body === 'string' ? body : JSON.stringify(body));

/** It takes the request, and closes the connection without an answer. */
export const hangsUp: Behaviour = (response) => void response.destroy();

/** It takes the request, and never answers. */
export const staysSilent: Behaviour = () => undefined;
