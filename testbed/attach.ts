import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect } from './api.ts';
import { writeKubeconfig } from './kubeconfig.ts';
import type { SimulatedNode } from './nodes.ts';
import { apiserverCertificate } from './servers/apiserver.ts';
import { accountToken, podToken } from './tokens.ts';
import type { TestCluster } from './test-cluster.ts';

/** A test cluster that another process started and will stop: everything except its servers and real nodes. */
export type AttachedTestCluster = Omit<TestCluster, 'servers' | 'realNodes' | 'stop'>;

interface Written {
  readonly directory: string;
  readonly kubernetes: {
    readonly server: string;
    readonly kubeconfig: string;
    readonly auditLog: string;
    readonly podLog: string;
  };
  readonly temporal: TestCluster['temporal'];
  readonly nodes: readonly SimulatedNode[];
}

/** The test cluster as plain data, for another process. */
function describeTestCluster({ directory, kubernetes, temporal, nodes }: AttachedTestCluster): Written {
  const { server, kubeconfig, auditLog, podLog } = kubernetes;
  return { directory, kubernetes: { server, kubeconfig, auditLog, podLog }, temporal, nodes };
}

export function writeTestCluster(file: string, cluster: AttachedTestCluster, more: object): void {
  writeFileSync(file, JSON.stringify({ ...describeTestCluster(cluster), ...more }));
}

export function attachTestCluster(file: string): AttachedTestCluster {
  const { directory, kubernetes, temporal, nodes } = JSON.parse(readFileSync(file, 'utf8')) as Written;
  const api = connect(kubernetes.kubeconfig);
  const authority = apiserverCertificate(directory).certificate;
  return {
    directory,
    api,
    temporal,
    nodes,
    kubernetes: {
      ...kubernetes,
      podToken: (pod, serviceAccount, audience) => podToken(api, pod, serviceAccount, audience),
      authority,
      kubeconfigFor: async (account, through = { server: kubernetes.server, authority }) => {
        const user = `${account.namespace}-${account.name}`;
        return writeKubeconfig({
          ...through,
          file: join(directory, `${user}.kubeconfig`),
          user,
          token: await accountToken(api, account),
        });
      },
    },
  };
}
