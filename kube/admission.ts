/**
 * Admission policies: what a right cannot be bound to. They hold the roles to the fields that the permission table names,
 * and pods of tenants to their own directories on the nodes.
 */

import type { V1ValidatingAdmissionPolicy, V1ValidatingAdmissionPolicyBinding, V1Validation } from '@kubernetes/client-node';
import { preflightDirectory } from '../contract/preflight.ts';
import { progressDirectory } from '../contract/progress.ts';
import { quarantineTaintKey } from '../contract/ids.ts';
import { fieldsOf, listOf, sameBut, textOf } from './admission-expressions.ts';
import { jobKinds } from './job-kinds/index.ts';
import { agentNamespace, type Changes, ownNamespace, type Permission, permissions, type Role, roleNames } from './permissions.ts';

/** What differs from one installation to the next, as texts of CEL. */
export interface Installation {
  /** Names of users. */
  readonly controller: string;
  readonly worker: string;
  /** The taint of a quarantine, and the key of the taint of stand-by nodes. */
  readonly taint: { readonly key: string; readonly effect: string };
  readonly spare: string;
  /** Where the agents are, and their account. */
  readonly agents: { readonly namespace: string; readonly account: string };
  /** kcover's directory on the nodes; ends without a slash. */
  readonly directory: string;
}

const userOf = (role: Role): string => textOf(`system:serviceaccount:${ownNamespace}:kcover-${role}`);

/** As docs/reference/rbac.yaml and the default settings have it. */
export const byDefault: Installation = {
  controller: userOf('controller'),
  worker: userOf('worker'),
  taint: { key: textOf(quarantineTaintKey), effect: textOf('NoSchedule') },
  spare: textOf('kcover.io/spare'),
  agents: { namespace: textOf(agentNamespace), account: textOf('kcover-agent') },
  directory: textOf('/var/lib/kcover'),
};

interface Policy {
  readonly name: string;
  readonly operations: readonly ('CREATE' | 'UPDATE' | 'DELETE')[];
  readonly resources: readonly { readonly apiGroup: string; readonly resource: string }[];
  /** All must hold, or the policy has nothing to say. */
  readonly conditions: Readonly<Record<string, string>>;
  readonly variables?: Readonly<Record<string, string>>;
  readonly validations: readonly V1Validation[];
}

export const admissionPolicies = (installation: Installation): (V1ValidatingAdmissionPolicy | V1ValidatingAdmissionPolicyBinding)[] =>
  [...roleNames.flatMap((role) => policiesOf(role, installation)), hostPaths(installation)].flatMap(objectsOf);

/** One policy for each resource that the role patches or deletes; kinds of job share one. */
function policiesOf(role: Role, installation: Installation): Policy[] {
  const table: readonly Permission[] = permissions[role];
  const byResource = Map.groupBy(
    table.filter(({ changes }) => changes),
    ({ apiGroup, resource }) => (isJob(apiGroup, resource) ? 'jobs' : resource),
  );
  const patches = [...byResource].map(([what, those]) => patchPolicy(role, what, those, installation));
  return [...patches, ...table.filter(({ deletes }) => deletes).map((permission) => deletePolicy(role, permission, installation))];
}

const isJob = (apiGroup: string, resource: string): boolean => Object.values(jobKinds).some(({ group, plural }) => group === apiGroup && plural === resource);

const asRole = (role: Role, installation: Installation) => ({ role: `request.userInfo.username == ${installation[role]}` });

function patchPolicy(role: Role, what: string, those: readonly Permission[], installation: Installation): Policy {
  const all = (pick: (changes: Changes) => readonly string[] | undefined): string[] => [...new Set(those.flatMap(({ changes = {} }) => pick(changes) ?? []))];
  const spec = all((changes) => changes.spec);
  const annotations = all((changes) => changes.annotations);
  const labels = all((changes) => changes.labels);
  const removed = all((changes) => changes.removedLabels);
  const tainted = those.some(({ changes }) => changes?.taints);
  return {
    name: `kcover-${role}-${what}`,
    operations: ['UPDATE'],
    resources: those,
    conditions: asRole(role, installation),
    variables: {
      spec: 'dyn(object.spec)',
      specBefore: 'dyn(oldObject.spec)',
      ...Object.fromEntries(['labels', 'annotations'].flatMap((map) => [mapOf(map, 'object'), mapOf(map, 'oldObject')])),
    },
    validations: [
      refuse(
        `the ${role} may change no annotations${but(annotations)}`,
        sameBut(fieldsIn(annotations), 'variables.annotations', 'variables.annotationsBefore'),
      ),
      ...labelRules(role, labels, removed),
      refuse(`the ${role} may change neither owners nor finalizers`, [ownersSame, finalizersSame].join(' && ')),
      refuse(
        `the ${role} may not change this field of the spec`,
        sameBut(fieldsOf([...spec, ...(tainted ? ['taints'] : [])]), 'variables.spec', 'variables.specBefore'),
      ),
      ...(tainted ? taintRules(role, installation) : []),
    ],
  };
}

const but = (names: readonly string[]): string => (names.length === 0 ? '' : ` but ${names.join(', ')}`);

/** Names with dots in them, which are no paths. */
const fieldsIn = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, true as const]));

const mapOf = (map: string, object: 'object' | 'oldObject'): [string, string] => [
  object === 'object' ? map : `${map}Before`,
  `dyn(${object}.metadata.?${map}.orValue({}))`,
];

const ownersSame = 'object.metadata.?ownerReferences.orValue([]) == oldObject.metadata.?ownerReferences.orValue([])';
const finalizersSame = 'object.metadata.?finalizers.orValue([]) == oldObject.metadata.?finalizers.orValue([])';

const refuse = (message: string, expression: string): V1Validation => ({ expression, message, reason: 'Forbidden' });

/**
 * One that may be removed is free to go, and bound as long as it is there. When the last label of a batch Job goes, the server gives it those
 * of its pod template.
 */
const labelRules = (role: Role, labels: readonly string[], removed: readonly string[]): V1Validation[] => {
  const now = 'variables.labels';
  const before = 'variables.labelsBefore';
  const ofTemplate = 'variables.spec[?"template"].orValue({})[?"metadata"].orValue({})[?"labels"].orValue({})';
  const isSame = (map: string): string => `(k in ${map} && ${now}[k] == ${map}[k])`;
  const message = `the ${role} may change no labels${but([...labels, ...removed.map((name) => `${name}, which it may remove`)])}`;
  if (removed.length === 0) return [refuse(message, sameBut(fieldsIn(labels), now, before))];
  return [
    refuse(
      message,
      `${now}.all(k, k in ${listOf(labels)} || ${isSame(before)} || ${isSame(ofTemplate)}) &&\n${before}.all(k, k in ${listOf([...labels, ...removed])} || k in ${now})`,
    ),
  ];
};

/** Taints of others stay; one of stand-by nodes may only go. */
function taintRules(role: Role, { taint, spare }: Installation): V1Validation[] {
  const taints = (spec: string): string => `variables.${spec}[?"taints"].orValue([])`;
  const isOurs = `(t.key == ${taint.key} && t.effect == ${taint.effect})`;
  const others = (spec: string): string => `${taints(spec)}.filter(t, !${isOurs} && t.key != ${spare})`;
  return [
    refuse(`the ${role} may change no taint but that of a quarantine`, `${others('spec')} ==\n${others('specBefore')}`),
    refuse(`the ${role} may put no node on stand-by`, `${taints('spec')}.all(t, t.key != ${spare} || ${isOurs} || t in ${taints('specBefore')})`),
  ];
}

function deletePolicy(role: Role, permission: Permission, installation: Installation): Policy {
  const kinds = listOf(Object.values(jobKinds).map(({ group, kind }) => `${group}/${kind}`));
  const isJobs = `o.?controller.orValue(false) && (o.apiVersion.split("/")[0] + "/" + o.kind) in ${kinds}`;
  return {
    name: `kcover-${role}-${permission.resource}-deletion`,
    operations: ['DELETE'],
    resources: [permission],
    conditions: asRole(role, installation),
    validations: [
      refuse(`the ${role} may delete only pods that a training job controls`, `oldObject.metadata.?ownerReferences.orValue([]).exists(o, ${isJobs})`),
    ],
  };
}

/**
 * A path may be written with double slashes and dots; the server itself refuses two dots. Nothing below the directory of a namespace: a link that
 * one pod leaves there would be followed on the host when another pod mounts it.
 */
function hostPaths({ agents, directory }: Installation): Policy {
  const volumes = 'object.spec.?volumes.orValue([])';
  const normal = 'v.hostPath.path.split("/").filter(part, part != "" && part != ".").join("/")';
  const open = [preflightDirectory, progressDirectory].map((below) => `path == ${directory} + "/${lastOf(below)}/" + request.namespace + "/"`);
  return {
    name: 'kcover-host-paths',
    operations: ['CREATE'],
    resources: [{ apiGroup: '', resource: 'pods' }],
    conditions: {
      hostPath: `${volumes}.exists(v, has(v.hostPath))`,
      others: `!(request.namespace == ${agents.namespace} && object.spec.?serviceAccountName.orValue("") == ${agents.account})`,
    },
    variables: { paths: `${volumes}.filter(v, has(v.hostPath)).map(v, "/" + ${normal} + "/")` },
    validations: [
      refuse(
        "of kcover's directory on the nodes a pod may mount preflight/<its namespace> and progress/<its namespace>, and nothing else",
        `variables.paths.all(path, !path.startsWith(${directory} + "/") || ${open.join(' || ')})`,
      ),
    ],
  };
}

const lastOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1);

const api = 'admissionregistration.k8s.io/v1';

function objectsOf(policy: Policy): [V1ValidatingAdmissionPolicy, V1ValidatingAdmissionPolicyBinding] {
  const { name, operations, resources, conditions, variables = {}, validations } = policy;
  const named = (expressions: Readonly<Record<string, string>>) => Object.entries(expressions).map(([name, expression]) => ({ name, expression }));
  const rules = [...Map.groupBy(resources, ({ apiGroup }) => apiGroup)].map(([group, those]) => ({
    apiGroups: [group],
    apiVersions: ['*'],
    operations: [...operations],
    resources: those.map(({ resource }) => resource),
  }));
  return [
    {
      apiVersion: api,
      kind: 'ValidatingAdmissionPolicy',
      metadata: { name },
      spec: {
        failurePolicy: 'Fail',
        matchConstraints: { resourceRules: rules },
        matchConditions: named(conditions),
        ...(Object.keys(variables).length > 0 && { variables: named(variables) }),
        validations: [...validations],
      },
    },
    { apiVersion: api, kind: 'ValidatingAdmissionPolicyBinding', metadata: { name }, spec: { policyName: name, validationActions: ['Deny'] } },
  ];
}
