import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { probe } from './probe.ts';
import { server, type Server } from './server.ts';

export interface LokiOptions {
  readonly program: string;
  readonly directory: string;
  readonly port: number;
  readonly grpcPort: number;
}

/** All of Loki in one process, with tenants, and with its data in the run directory. */
export function loki({ program, directory, port, grpcPort }: LokiOptions): Server {
  const data = join(directory, 'loki');
  const config = join(directory, 'loki.json');
  const listen = '127.0.0.1';
  const settings = {
    auth_enabled: true,
    server: {
      http_listen_address: listen,
      http_listen_port: port,
      grpc_listen_address: listen,
      grpc_listen_port: grpcPort,
    },
    common: {
      path_prefix: data,
      replication_factor: 1,
      instance_addr: listen,
      ring: { kvstore: { store: 'inmemory' } },
      storage: { filesystem: { chunks_directory: join(data, 'chunks'), rules_directory: join(data, 'rules') } },
    },
    schema_config: {
      configs: [
        {
          from: '2024-01-01',
          store: 'tsdb',
          object_store: 'filesystem',
          schema: 'v13',
          index: { prefix: 'index_', period: '24h' },
        },
      ],
    },
    limits_config: { discover_service_name: [], discover_log_levels: false },
    analytics: { reporting_enabled: false },
  };
  mkdirSync(data, { recursive: true });
  // YAML, of which JSON is a part.
  writeFileSync(config, JSON.stringify(settings));
  return server(directory, {
    name: 'loki',
    program,
    args: [`-config.file=${config}`],
    missing: () => probe(`http://${listen}:${port}/ready`),
  });
}
