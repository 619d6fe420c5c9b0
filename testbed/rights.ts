/** The rights of an installation, for roles that run beside the cluster. */

import { hookNamespace, ownNamespace } from '../kube/permissions.ts';
import { clusterRoles, repairRoles, roles as namespacedRoles } from '../kube/rbac.ts';
import type { Api } from './api.ts';
import { isChartInstalled } from './chart.ts';

interface WithApi {
  readonly api: Api;
}

/** Grants exactly the rights of an installation; where the chart is installed, nothing is added to its rights. */
export async function grant({ api }: WithApi): Promise<void> {
  if (await isChartInstalled(api)) return;
  await unlessThere(api.core.createNamespace({ body: { metadata: { name: ownNamespace } } }));
  for (const name of ['kcover-controller', 'kcover-worker']) {
    await unlessThere(
      api.core.createNamespacedServiceAccount({
        namespace: ownNamespace,
        body: { metadata: { name, namespace: ownNamespace } },
      }),
    );
  }
  await apply(api, [...clusterRoles(), ...namespacedRoles()]);
}

/** Adds the rights of an installation that repairs nodes, and the namespace of its hooks. */
export async function grantRepair({ api }: WithApi, namespace = hookNamespace): Promise<void> {
  await unlessThere(api.core.createNamespace({ body: { metadata: { name: namespace } } }));
  await apply(api, repairRoles(namespace));
}

async function apply(api: Api, objects: ReturnType<typeof repairRoles>): Promise<void> {
  for (const object of objects) {
    const namespace = object.metadata?.namespace ?? ownNamespace;
    if (object.kind === 'ClusterRole') await unlessThere(api.rbac.createClusterRole({ body: object }));
    if (object.kind === 'ClusterRoleBinding')
      await unlessThere(
        api.rbac.createClusterRoleBinding({
          body: object as Parameters<typeof api.rbac.createClusterRoleBinding>[0]['body'],
        }),
      );
    if (object.kind === 'Role') await unlessThere(api.rbac.createNamespacedRole({ namespace, body: object }));
    if (object.kind === 'RoleBinding')
      await unlessThere(
        api.rbac.createNamespacedRoleBinding({
          namespace,
          body: object as Parameters<typeof api.rbac.createNamespacedRoleBinding>[0]['body'],
        }),
      );
  }
}

async function unlessThere(creating: Promise<unknown>): Promise<void> {
  await creating.catch((error: { readonly code?: number }) => {
    if (error.code !== 409) throw error;
  });
}
