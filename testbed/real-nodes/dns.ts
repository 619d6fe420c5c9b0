import { probe } from '../servers/probe.ts';
import { server, type Server } from '../servers/server.ts';

export interface DnsOptions {
  readonly program: string;
  readonly directory: string;
  /** The address on which it answers, at port 53. */
  readonly address: string;
  readonly port: number;
  readonly kubeconfig: string;
}

/** Resolves Services and the pods behind them for pods of all real nodes. It resolves no names outside of the cluster. */
export function dns({ program, directory, address, port, kubeconfig }: DnsOptions): Server {
  return server(directory, {
    name: 'dns',
    program,
    args: [`-kubeconfig=${kubeconfig}`, `-listen=${address}:53`, `-ready=${address}:${port}`],
    kept: true,
    missing: () => probe(`http://${address}:${port}/`),
  });
}
