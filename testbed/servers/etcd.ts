import { join } from 'node:path';
import { probe } from './probe.ts';
import { server, type Server } from './server.ts';

export interface EtcdOptions {
  readonly program: string;
  readonly directory: string;
  readonly port: number;
  readonly peerPort: number;
}

export function etcd({ program, directory, port, peerPort }: EtcdOptions): Server {
  const url = `http://127.0.0.1:${port}`;
  const peer = `http://127.0.0.1:${peerPort}`;
  return server(directory, {
    name: 'etcd',
    program,
    args: [
      `--data-dir=${join(directory, 'etcd')}`,
      `--listen-client-urls=${url}`,
      `--advertise-client-urls=${url}`,
      `--listen-peer-urls=${peer}`,
      `--initial-advertise-peer-urls=${peer}`,
      `--initial-cluster=default=${peer}`,
      // Survives a killed process, but not a power cut: enough for a test, and several times faster.
      '--unsafe-no-fsync',
      '--log-level=warn',
    ],
    kept: true,
    missing: () => probe(`${url}/readyz`),
  });
}
