/** How many connections the intake holds, and how long it keeps idle ones. */

import type { Socket } from 'node:net';
import type { Server } from 'node:https';

export interface ConnectionLimits {
  readonly connections: number;
  /** Of one address. */
  readonly connectionsFrom: number;
}

/** Server time-outs, ms. A request must be complete in 15 s, and its headers sooner. */
export const serverTimeouts = {
  handshakeTimeout: 10_000,
  headersTimeout: 10_000,
  requestTimeout: 15_000,
  /** How often these time-outs are checked. */
  connectionsCheckingInterval: 5000,
  /** Time-out of an idle connection; a round is held for less. */
  connectionTimeout: 40_000,
  /** Longer than the 60 s for which an agent keeps a connection: a handshake for each heartbeat would be most of the work. */
  keepAliveTimeout: 65_000,
} as const;

/** Connections above a limit are closed before the expensive TLS handshake. */
export function limitConnections(server: Server, { connections, connectionsFrom }: ConnectionLimits): void {
  const from = new Map<string, number>();
  server.maxConnections = connections;
  server.on('connection', (socket: Socket) => {
    const address = socket.remoteAddress ?? '';
    const open = (from.get(address) ?? 0) + 1;
    from.set(address, open);
    socket.once('close', () => {
      const left = (from.get(address) ?? 1) - 1;
      if (left > 0) from.set(address, left);
      else from.delete(address);
    });
    if (open > connectionsFrom) socket.destroy();
  });
}
