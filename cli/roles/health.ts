/** Health and metrics endpoints of every role. */

import Fastify from 'fastify';
import type { Registry } from 'prom-client';
import { KcoverError } from '../../contract/errors.ts';

export interface HealthOptions {
  /** `host:port` */
  readonly listen: string;
  /** Why the role is not ready; undefined when it is. */
  readonly notReady: () => string | undefined;
  readonly registry: Registry;
  /** Limitations of a role that is ready, one sentence each. */
  readonly remarks: () => readonly string[];
  /** Metrics in text form that another library provides. */
  readonly more: () => Promise<string>;
}

export interface Health {
  readonly address: string;
  close(): Promise<void>;
}

/** Serves `/livez` (the event loop runs), `/readyz` and `/metrics`. Throws `address.taken` when it cannot listen. */
export async function serveHealth({ listen, notReady, remarks, registry, more }: HealthOptions): Promise<Health> {
  const server = Fastify({ logger: false, forceCloseConnections: true });
  server.get('/livez', () => 'ok\n');
  server.get('/readyz', (_, reply) => {
    const why = notReady();
    return why === undefined ? ['ok', ...remarks(), ''].join('\n') : reply.code(503).send(`${why}\n`);
  });
  server.get('/metrics', async (_, reply) => {
    const [own, others] = await Promise.all([registry.metrics(), more()]);
    return reply.header('content-type', registry.contentType).send(own + others);
  });

  const colon = listen.lastIndexOf(':');
  try {
    const address = await server.listen({
      host: listen.slice(0, colon) || '0.0.0.0',
      port: Number(listen.slice(colon + 1)),
    });
    return { address, close: () => server.close() };
  } catch (error) {
    throw new KcoverError(
      'address.taken',
      `health.listen ${listen}: ${error instanceof Error ? error.message : 'cannot listen'}`,
      {
        remedy: 'set health.listen to a free port',
      },
    );
  }
}
