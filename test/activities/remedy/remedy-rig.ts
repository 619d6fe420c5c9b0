/** A cluster with a worker that repairs nodes, under the rights of an installation that does. */

import { randomUUID } from 'node:crypto';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ActivityHandle } from '@temporalio/client';
import { stringify } from 'yaml';
import type { HookRequest, HookResult } from '../../../contract/remedy/remedy.ts';
import { connectKube, type Kube } from '../../../kube/client/connection.ts';
import { hookNamespace, ownNamespace } from '../../../kube/permissions.ts';
import { repairRoles } from '../../../kube/rbac.ts';
import { askKube } from '../../../kube/client/requests.ts';
import { attachTestCluster } from '../../../testbed/attach.ts';
import type { SimulatedNode } from '../../../testbed/nodes.ts';
import { grantRepair } from '../../../testbed/rights.ts';
import { hookRequest } from '../../support/hook-requests.ts';
import { liveCluster, type LiveCluster } from '../live-cluster.ts';

/** Of an activity that outlives its worker, and with it the client that started it. */
export type Started = () => ActivityHandle<HookResult>;

export interface RemedyRig {
  readonly cluster: LiveCluster;
  /** With every right. */
  readonly admin: Kube;
  readonly nodes: readonly SimulatedNode[];
  /** A request for the first node, under a new operation. */
  request(hook: string, more?: Partial<HookRequest>): HookRequest;
  /** Starts a hook, so that it can be cancelled. */
  start(request: HookRequest): Promise<Started>;
  /** The worker ends as in an upgrade, and another one continues. */
  replaceWorker(): Promise<void>;
  close(): Promise<void>;
}

const directory = mkdtempSync(join(tmpdir(), 'hooks-'));

/** A file with the object as YAML. */
export function templateFile(value: object): string {
  const file = join(directory, `${randomUUID()}.yaml`);
  writeFileSync(file, stringify(value));
  return file;
}

export async function remedyRig(hooks: object, more: object = {}): Promise<RemedyRig> {
  const { kubernetes, nodes, api } = attachTestCluster(process.env['KCOVER_TEST_CLUSTER'] ?? '');
  const taskQueue = `remedy-${randomUUID()}`;
  await grantRepair({ api });
  const kubeconfig = await kubernetes.kubeconfigFor({ namespace: ownNamespace, name: 'kcover-worker' });
  const remediation = { mode: 'run', hooks, ...more };
  const worker = () => liveCluster({ kubeconfig, taskQueue, more: { remediation } });
  const admin = connectKube({ kubeconfig: kubernetes.kubeconfig });
  let cluster = await worker();
  const [node] = nodes;
  if (!node) throw new Error('there are no nodes');
  return {
    get cluster() {
      return cluster;
    },
    admin,
    nodes,
    request: (hook, rest) =>
      hookRequest({ hook, node: node.name, uid: node.uid, operation: `op-${randomUUID().slice(0, 8)}`, ...rest }),
    async start(request) {
      const id = `hook-${randomUUID()}`;
      await cluster.client.activity.start<HookResult>('runHook', {
        id,
        taskQueue,
        args: [request],
        startToCloseTimeout: '120s',
        heartbeatTimeout: '10s',
        retry: { initialInterval: '200ms' },
      });
      return () => cluster.client.activity.getHandle<HookResult>(id);
    },
    async replaceWorker() {
      const old = cluster;
      cluster = await worker();
      await old.close();
    },
    async close() {
      await cluster.close();
      // Other tests compare the rights with those of an installation that repairs nothing.
      for (const { kind = '', metadata } of repairRoles(hookNamespace)) {
        const where = metadata?.namespace === undefined ? '' : `/namespaces/${metadata.namespace}`;
        const path = `/apis/rbac.authorization.k8s.io/v1${where}/${kind.toLowerCase()}s/${metadata?.name}`;
        await askKube(admin, { method: 'DELETE', path }, 'tidy up').catch(() => undefined);
      }
      await admin.close();
    },
  };
}
