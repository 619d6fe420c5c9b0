import { probe } from '../servers/probe.ts';
import { server, type Server } from '../servers/server.ts';

export interface DnsOptions {
  readonly program: string;
  readonly directory: string;
  /** Where it answers, at port 53. */
  readonly address: string;
  readonly port: number;
  readonly kubeconfig: string;
}

/** Names of Services and of the pods behind them, for pods of all real nodes. It knows no names outside of the cluster. */
export function dns({ program, directory, address, port, kubeconfig }: DnsOptions): Server {
  return server(directory, {
    name: 'dns',
    program,
    args: [`-kubeconfig=${kubeconfig}`, `-listen=${address}:53`, `-ready=${address}:${port}`],
    kept: true,
    missing: () => probe(`http://${address}:${port}/`),
  });
}
