import type { Ports } from '../servers/ports.ts';
import { type Authority, type CertificateFiles, createAuthority } from './authority.ts';
import { createNetwork, type Network } from './network.ts';

/** What a test cluster with real nodes needs before its API server starts. */
export interface Ground {
  readonly network: Network;
  readonly authority: Authority;
  /** The API server's certificate as a client of kubelets. */
  readonly kubeletClient: CertificateFiles;
  /** The serving certificate of the simulated kubelets. */
  readonly simulatedKubelet: CertificateFiles;
}

export async function prepareGround(directory: string, ports: Ports): Promise<Ground> {
  const authority = await createAuthority(directory);
  return {
    authority,
    network: await createNetwork(directory, ports.takeNetwork()),
    kubeletClient: await authority.issue('apiserver-kubelet-client', {
      name: 'kube-apiserver-kubelet-client',
      organization: 'system:masters',
    }),
    simulatedKubelet: await authority.issue('simulated-kubelet', { name: 'kwok', addresses: ['127.0.0.1'] }),
  };
}
