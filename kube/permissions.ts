/** What each role may do in the cluster, and why: the RBAC objects are generated from this table. The agent has no permissions. */

import type { V1ClusterRole, V1ClusterRoleBinding, V1PolicyRule, V1Role, V1RoleBinding } from '@kubernetes/client-node';
import { annotations, labels, leaderLabel } from '../contract/ids.ts';
import { type JobKindEntry, jobKinds } from './jobs/kinds/index.ts';
import { annotationsOfNodes } from './nodes/nodes.ts';

/** What a patch may change in an object. RBAC cannot limit fields, so an admission policy rejects all other changes. */
export interface Changes {
  readonly labels?: readonly string[];
  /** Labels that may be removed, but neither added nor changed. */
  readonly removedLabels?: readonly string[];
  readonly annotations?: readonly string[];
  /** Fields of the spec, `*` for every key. */
  readonly spec?: readonly string[];
  /** For nodes, the taints that settings name: that of quarantines, and that of standby nodes, which may only be removed. */
  readonly taints?: true;
}

export interface Permission {
  readonly apiGroup: string;
  readonly resource: string;
  readonly verbs: readonly string[];
  readonly why: string;
  /** Only these objects. */
  readonly names?: readonly string[];
  /** Only in kcover's own namespace. */
  readonly own?: true;
  /** In the namespaces of jobs: an installation may grant it in some only. */
  readonly tenants?: true;
  /** In the namespaces of the setting nodes.ascend.namespaces, none by default. */
  readonly reports?: true;
  /** With the verb `patch`. */
  readonly changes?: Changes;
  /** Only pods that a job of a known kind controls. */
  readonly deletes?: 'pods of jobs';
}

export type RoleWithRights = 'controller' | 'worker';

export const ownNamespace = 'kcover-system';
/** Agents are privileged and have a namespace of their own, so that permission to change the controllers' pods does not extend to them. */
export const agentNamespace = 'kcover-system-agents';
export const leaseName = 'kcover';
/** Stores a pause of the whole cluster. */
export const pauseConfigMap = 'kcover-pause';
/** Stores how far lines of Loki were read. */
export const lokiConfigMap = 'kcover-loki';

const clusterIdentity: Permission = {
  apiGroup: '',
  resource: 'namespaces',
  verbs: ['get'],
  names: ['kube-system'],
  why: 'its UID is the identity of the cluster',
};

/** The same for every kind of job. RBAC ignores versions, so versions of one resource share an entry. */
const onJobs = (
  permission: Pick<Permission, 'verbs' | 'why' | 'tenants'>,
  changes?: (kinds: readonly JobKindEntry[]) => Changes,
): Permission[] =>
  [...Map.groupBy(Object.values(jobKinds), ({ group, plural }) => `${plural}.${group}`).values()].flatMap((versions) =>
    versions.slice(0, 1).map(({ group, plural }) => ({
      apiGroup: group,
      resource: plural,
      ...permission,
      ...(changes && { changes: changes(versions) }),
    })),
  );

const look = ['get', 'list', 'watch'] as const;

export const permissions = {
  controller: [
    clusterIdentity,
    { apiGroup: '', resource: 'nodes', verbs: look, why: 'notices nodes that are gone, replaced or released by hand' },
    { apiGroup: '', resource: 'pods', verbs: look, why: 'sees pods fail; checks that the pod of a token lives' },
    {
      apiGroup: '',
      resource: 'pods',
      verbs: ['patch'],
      own: true,
      why: 'sets the leader label on its own pod and removes it from others',
      changes: { labels: [leaderLabel.key] },
    },
    ...onJobs({ verbs: look, why: 'sees jobs opt in, finish and disappear' }),
    ...onJobs(
      { verbs: ['patch'], tenants: true, why: 'writes the progress annotations, and the answers of ranks' },
      () => ({
        annotations: [
          annotations.step,
          annotations.checkpointStep,
          annotations.progressAt,
          annotations.training,
          annotations.restartAnswers,
        ],
      }),
    ),
    { apiGroup: 'authentication.k8s.io', resource: 'tokenreviews', verbs: ['create'], why: 'authenticates agents' },
    {
      apiGroup: 'coordination.k8s.io',
      resource: 'leases',
      verbs: ['create'],
      own: true,
      why: 'creates its Lease once; a create cannot be bound to a name',
    },
    {
      apiGroup: 'coordination.k8s.io',
      resource: 'leases',
      verbs: ['get', 'update', 'patch'],
      names: [leaseName],
      own: true,
      why: 'leader election',
    },
    {
      apiGroup: '',
      resource: 'configmaps',
      verbs: ['create'],
      own: true,
      why: 'stores for the first time how far lines of Loki were read; a create cannot be bound to a name',
    },
    {
      apiGroup: '',
      resource: 'configmaps',
      verbs: ['get', 'patch'],
      names: [lokiConfigMap],
      own: true,
      why: 'stores how far lines of Loki were read, and reads it',
    },
    { apiGroup: '', resource: 'configmaps', verbs: look, reports: true, why: 'sees faults that Ascend reports' },
  ],
  worker: [
    clusterIdentity,
    {
      apiGroup: '',
      resource: 'nodes',
      verbs: ['get', 'list', 'patch'],
      why: 'taints, cordons and releases nodes; checks their capacity, and takes standby nodes',
      changes: {
        annotations: annotationsOfNodes,
        spec: ['unschedulable'],
        taints: true,
      },
    },
    { apiGroup: '', resource: 'pods', verbs: look, why: 'sees the next attempt become ready; checks capacity' },
    {
      apiGroup: '',
      resource: 'pods',
      verbs: ['delete', 'deletecollection'],
      tenants: true,
      why: 'stops attempts',
      deletes: 'pods of jobs',
    },
    {
      apiGroup: '',
      resource: 'pods/log',
      verbs: ['get'],
      tenants: true,
      why: 'captures the last log lines of every rank before a stop',
    },
    { apiGroup: '', resource: 'events', verbs: ['create'], why: 'writes Events on jobs and nodes' },
    {
      apiGroup: '',
      resource: 'events',
      verbs: ['list'],
      why: 'captures the Events of pods, nodes and the job before a stop',
    },
    {
      apiGroup: '',
      resource: 'configmaps',
      verbs: ['create'],
      own: true,
      why: 'stores a pause for the first time; a create cannot be bound to a name',
    },
    {
      apiGroup: '',
      resource: 'configmaps',
      verbs: ['get', 'patch'],
      names: [pauseConfigMap],
      own: true,
      why: 'stores a pause outside of Temporal, and reads it',
    },
    {
      apiGroup: 'scheduling.k8s.io',
      resource: 'priorityclasses',
      verbs: ['get'],
      why: 'sets a priority class only if it exists',
    },
    ...onJobs({ verbs: look, why: 'reads the job and its next attempt' }),
    ...onJobs(
      {
        verbs: ['patch'],
        tenants: true,
        why: 'suspends, shrinks and resumes; removes the need-recovery label; records what it did in annotations',
      },
      (versions) => ({
        removedLabels: [labels.needRecovery],
        annotations: [
          annotations.suspendedBy,
          annotations.restartInProcess,
          annotations.restartAsked,
          annotations.podsBefore,
          annotations.preflight,
        ],
        spec: [...new Set(versions.flatMap(({ writes }) => writes))],
      }),
    ),
  ],
} as const satisfies Record<RoleWithRights, readonly Permission[]>;

export const roleNames = Object.keys(permissions).filter((name): name is RoleWithRights => name in permissions);
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
 * others report faults (by default none).
 */
type Reach = 'cluster' | 'tenants' | 'own' | 'reports';
const reachOf = ({ own, tenants, reports }: Permission): Reach =>
  own ? 'own' : reports ? 'reports' : tenants ? 'tenants' : 'cluster';

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
