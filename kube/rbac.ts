/** The RBAC objects of the permission table. Pure. */

import type { V1ClusterRole, V1ClusterRoleBinding, V1PolicyRule, V1Role, V1RoleBinding } from '@kubernetes/client-node';
import { ownNamespace, type Permission, permissions, roleNames, type RoleWithRights } from './permissions.ts';

const fullName = (role: RoleWithRights): string => `kcover-${role}`;
const rbac = 'rbac.authorization.k8s.io';

const rule = ({ apiGroup, resource, verbs, names }: Permission): V1PolicyRule => ({
  apiGroups: [apiGroup],
  resources: [resource],
  verbs: [...verbs],
  ...(names && { resourceNames: [...names] }),
});

const subjects = (role: RoleWithRights) => [{ kind: 'ServiceAccount', name: fullName(role), namespace: ownNamespace }];

/**
 * Scope of permissions: the whole cluster, the namespaces of jobs (by default the whole cluster too), kcover's own namespace, those in which
 * others report faults (by default none). The last two are only granted where nodes are repaired.
 */
type Reach = 'cluster' | 'tenants' | 'own' | 'reports' | 'repair' | 'hooks';
const reachOf = ({ own, tenants, reports, repair }: Permission): Reach => {
  if (repair) return repair === 'hooks' ? 'hooks' : 'repair';
  return own ? 'own' : reports ? 'reports' : tenants ? 'tenants' : 'cluster';
};

/** Separate name for permissions in the namespaces of jobs, so that they can be bound to some namespaces. */
export const tenantsName = (role: RoleWithRights): string => `${fullName(role)}-jobs`;

function rulesOf(role: RoleWithRights, reach: Reach): V1PolicyRule[] {
  const table: readonly Permission[] = permissions[role];
  return table.filter((permission) => reachOf(permission) === reach).map(rule);
}

/** For the whole cluster: ClusterRoles and their bindings for every role. */
export const clusterRoles = (): (V1ClusterRole | V1ClusterRoleBinding)[] =>
  roleNames.flatMap((role) => [
    ...clusterRole(role, fullName(role), 'cluster'),
    ...clusterRole(role, tenantsName(role), 'tenants'),
  ]);

const clusterRole = (role: RoleWithRights, name: string, reach: Reach): (V1ClusterRole | V1ClusterRoleBinding)[] => [
  { apiVersion: `${rbac}/v1`, kind: 'ClusterRole', metadata: { name }, rules: rulesOf(role, reach) },
  {
    apiVersion: `${rbac}/v1`,
    kind: 'ClusterRoleBinding',
    metadata: { name },
    roleRef: { apiGroup: rbac, kind: 'ClusterRole', name },
    subjects: subjects(role),
  },
];

/** For kcover's own namespace: a Role and its binding, where a role needs something there. */
export const roles = (): (V1Role | V1RoleBinding)[] =>
  roleNames.flatMap((role) => roleIn(ownNamespace, role, fullName(role), 'own'));

/** Name of the permissions in the namespaces in which others report faults. */
export const reportsName = (role: RoleWithRights): string => `${fullName(role)}-reports`;

/** For one namespace of nodes.ascend.namespaces. */
export const reportRoles = (namespace: string): (V1Role | V1RoleBinding)[] =>
  roleNames.flatMap((role) => roleIn(namespace, role, reportsName(role), 'reports'));

/** Name of the permissions for the repair of nodes. */
export const repairName = (role: RoleWithRights): string => `${fullName(role)}-repair`;

/** For the repair of nodes, with the namespace of hooks. */
export const repairRoles = (hooks: string): (V1ClusterRole | V1ClusterRoleBinding | V1Role | V1RoleBinding)[] =>
  roleNames.flatMap((role) =>
    rulesOf(role, 'repair').length === 0
      ? []
      : [...clusterRole(role, repairName(role), 'repair'), ...roleIn(hooks, role, repairName(role), 'hooks')],
  );

function roleIn(namespace: string, role: RoleWithRights, name: string, reach: Reach): (V1Role | V1RoleBinding)[] {
  const rules = rulesOf(role, reach);
  if (rules.length === 0) return [];
  const metadata = { name, namespace };
  return [
    { apiVersion: `${rbac}/v1`, kind: 'Role', metadata, rules },
    {
      apiVersion: `${rbac}/v1`,
      kind: 'RoleBinding',
      metadata,
      roleRef: { apiGroup: rbac, kind: 'Role', name },
      subjects: subjects(role),
    },
  ];
}
