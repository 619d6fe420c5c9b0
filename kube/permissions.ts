/** What each role may do in the cluster, and why: rbac.ts makes the RBAC objects of this table. The agent has no permissions. */

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
  /** Only where nodes are repaired (remediation.mode run): in the whole cluster, or in the namespace of hooks. */
  readonly repair?: 'cluster' | 'hooks';
  /** With the verb `patch`. */
  readonly changes?: Changes;
  /** Only pods that a job of a known kind controls. */
  readonly deletes?: 'pods of jobs';
  /** Evictions name the UID of the pod. */
  readonly evicts?: 'by UID';
}

export type RoleWithRights = 'controller' | 'worker';

export const ownNamespace = 'kcover-system';
/** Agents are privileged and have a namespace of their own, so that permission to change the controllers' pods does not extend to them. */
export const agentNamespace = 'kcover-system-agents';
/** Default of remediation.namespace. */
export const hookNamespace = 'kcover-hooks';
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
      verbs: ['get', 'list', 'watch', 'patch'],
      why: 'taints, cordons and releases nodes; checks their capacity, takes standby nodes, and sees what a repair has done',
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
    {
      apiGroup: '',
      resource: 'pods/eviction',
      verbs: ['create'],
      repair: 'cluster',
      why: 'moves other workloads off a node before its repair (remediation.drain)',
      evicts: 'by UID',
    },
    { apiGroup: 'batch', resource: 'jobs', verbs: ['create'], repair: 'hooks', why: 'runs hooks on the node' },
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
