/** What each role may do in the cluster, and why: one table, from which the RBAC objects are made. The agent may do nothing. */

import type { V1ClusterRole, V1ClusterRoleBinding, V1PolicyRule, V1Role, V1RoleBinding } from '@kubernetes/client-node';
import { jobKinds } from './job-kinds/index.ts';

export interface Permission {
  readonly apiGroup: string;
  readonly resource: string;
  readonly verbs: readonly string[];
  readonly why: string;
  /** Only these objects. */
  readonly names?: readonly string[];
  /** Only in kcover's own namespace. */
  readonly own?: true;
}

export type Role = 'controller' | 'worker';

export const ownNamespace = 'kcover-system';
export const leaseName = 'kcover';
/** Keeps a pause of the whole cluster. */
export const pauseConfigMap = 'kcover-pause';

const clusterIdentity: Permission = {
  apiGroup: '',
  resource: 'namespaces',
  verbs: ['get'],
  names: ['kube-system'],
  why: 'its UID is the identity of the cluster',
};

/** The same for every kind of job. */
const onJobs = (verbs: readonly string[], why: string): Permission[] =>
  Object.values(jobKinds).map(({ group, plural }) => ({ apiGroup: group, resource: plural, verbs, why }));

export const permissions = {
  controller: [
    clusterIdentity,
    { apiGroup: '', resource: 'nodes', verbs: ['get', 'list', 'watch'], why: 'notices nodes that are gone, replaced or released by hand' },
    { apiGroup: '', resource: 'pods', verbs: ['get', 'list', 'watch'], why: 'sees pods fail; checks that the pod of a token lives' },
    { apiGroup: '', resource: 'pods', verbs: ['patch'], own: true, why: 'puts the leader label on its own pod and takes it off others' },
    ...onJobs(['get', 'list', 'watch', 'patch'], 'sees jobs opt in, finish and go; writes the progress annotations, and nothing else'),
    { apiGroup: 'authentication.k8s.io', resource: 'tokenreviews', verbs: ['create'], why: 'asks who an agent is' },
    { apiGroup: 'coordination.k8s.io', resource: 'leases', verbs: ['create'], own: true, why: 'creates its Lease once; a create cannot be bound to a name' },
    { apiGroup: 'coordination.k8s.io', resource: 'leases', verbs: ['get', 'update', 'patch'], names: [leaseName], own: true, why: 'one controller leads' },
  ],
  worker: [
    clusterIdentity,
    {
      apiGroup: '',
      resource: 'nodes',
      verbs: ['get', 'list', 'patch'],
      why: 'taints, cordons and releases nodes; looks for room on them, and takes those that stand by',
    },
    {
      apiGroup: '',
      resource: 'pods',
      verbs: ['get', 'list', 'watch', 'delete', 'deletecollection'],
      why: 'stops attempts and sees the next one become ready; looks for room',
    },
    { apiGroup: '', resource: 'pods/log', verbs: ['get'], why: 'keeps the last lines of every rank before a stop' },
    { apiGroup: '', resource: 'events', verbs: ['create', 'patch'], why: 'tells people on the job and the node' },
    { apiGroup: '', resource: 'events', verbs: ['list'], why: 'keeps the Events of pods, nodes and the job before a stop' },
    { apiGroup: '', resource: 'configmaps', verbs: ['create'], own: true, why: 'keeps a pause for the first time; a create cannot be bound to a name' },
    {
      apiGroup: '',
      resource: 'configmaps',
      verbs: ['get', 'patch'],
      names: [pauseConfigMap],
      own: true,
      why: 'keeps a pause outside of Temporal, and reads it',
    },
    { apiGroup: 'scheduling.k8s.io', resource: 'priorityclasses', verbs: ['get'], why: 'gives pods a class only where there is one' },
    ...onJobs(['get', 'list', 'watch', 'patch'], 'suspends, makes smaller and resumes; removes the need-recovery label; sees the next attempt'),
  ],
} as const satisfies Record<Role, readonly Permission[]>;

const roleNames = Object.keys(permissions).filter((name): name is Role => name in permissions);
const fullName = (role: Role): string => `kcover-${role}`;
const rbac = 'rbac.authorization.k8s.io';

const rule = ({ apiGroup, resource, verbs, names }: Permission): V1PolicyRule => ({
  apiGroups: [apiGroup],
  resources: [resource],
  verbs: [...verbs],
  ...(names && { resourceNames: [...names] }),
});

const subjects = (role: Role) => [{ kind: 'ServiceAccount', name: fullName(role), namespace: ownNamespace }];

function rulesOf(role: Role, own: boolean): V1PolicyRule[] {
  const table: readonly Permission[] = permissions[role];
  return table.filter((permission) => (permission.own === true) === own).map(rule);
}

/** For the whole cluster: a ClusterRole and its binding for every role. */
export const clusterRoles = (): (V1ClusterRole | V1ClusterRoleBinding)[] =>
  roleNames.flatMap((role) => [
    { apiVersion: `${rbac}/v1`, kind: 'ClusterRole', metadata: { name: fullName(role) }, rules: rulesOf(role, false) },
    {
      apiVersion: `${rbac}/v1`,
      kind: 'ClusterRoleBinding',
      metadata: { name: fullName(role) },
      roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: fullName(role) },
      subjects: subjects(role),
    },
  ]);

/** For kcover's own namespace: a Role and its binding, where a role needs something there. */
export const roles = (): (V1Role | V1RoleBinding)[] =>
  roleNames
    .filter((role) => rulesOf(role, true).length > 0)
    .flatMap((role) => {
      const metadata = { name: fullName(role), namespace: ownNamespace };
      return [
        { apiVersion: `${rbac}/v1`, kind: 'Role', metadata, rules: rulesOf(role, true) },
        { apiVersion: `${rbac}/v1`, kind: 'RoleBinding', metadata, roleRef: { apiGroup: rbac, kind: 'Role', name: fullName(role) }, subjects: subjects(role) },
      ];
    });
