import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { probe } from '../servers/probe.ts';
import { server, type Server } from '../servers/server.ts';

export interface DnsOptions {
  /** Directory of the program. */
  readonly program: string;
  readonly directory: string;
  /** Where it answers, at port 53. */
  readonly address: string;
  readonly port: number;
  readonly kubeconfig: string;
}

/** Names of Services and of the pods behind them, for pods of all real nodes. It knows no names outside of the cluster. */
export function dns({ program, directory, address, port, kubeconfig }: DnsOptions): Server {
  const config = join(directory, 'Corefile');
  const plugins = [`bind ${address}`, 'errors', `ready ${address}:${port}`, `kubernetes cluster.local {\n    kubeconfig ${kubeconfig}\n    ttl 0\n  }`];
  writeFileSync(config, `.:53 {\n${plugins.map((line) => `  ${line}\n`).join('')}}\n`);
  return server(directory, {
    name: 'coredns',
    program: join(program, 'coredns'),
    args: ['-conf', config],
    kept: true,
    missing: () => probe(`http://${address}:${port}/ready`),
  });
}
