/** Restricts controller and worker to the fields of the permission table, and the worker to the pods of jobs. */

import type { V1Validation } from '@kubernetes/client-node';
import { jobKinds } from '../jobs/kinds/index.ts';
import { type Changes, type Permission, permissions, type RoleWithRights } from '../permissions.ts';
import { fieldsOf, listOf, sameBut, textOf } from './expressions.ts';
import { type Installation, type Policy, refuse } from './policy.ts';

/** One policy for each resource that the role patches or deletes; kinds of job share one. */
export function policiesOf(role: RoleWithRights, installation: Installation): Policy[] {
  const table: readonly Permission[] = permissions[role];
  const byResource = Map.groupBy(
    table.filter(({ changes }) => changes),
    ({ apiGroup, resource }) => (isJob(apiGroup, resource) ? 'jobs' : resource),
  );
  const patches = [...byResource].map(([what, those]) => patchPolicy(role, what, those, installation));
  return [
    ...patches,
    ...table.filter(({ deletes }) => deletes).map((permission) => deletePolicy(role, permission, installation)),
    ...table.filter(({ evicts }) => evicts).map((permission) => evictionPolicy(role, permission, installation)),
  ];
}

const isJob = (apiGroup: string, resource: string): boolean =>
  Object.values(jobKinds).some(({ group, plural }) => group === apiGroup && plural === resource);

const asRole = (role: RoleWithRights, installation: Installation) => ({
  role: `request.userInfo.username == ${installation[role]}`,
});

function patchPolicy(
  role: RoleWithRights,
  what: string,
  those: readonly Permission[],
  installation: Installation,
): Policy {
  const all = (pick: (changes: Changes) => readonly string[] | undefined): string[] => [
    ...new Set(those.flatMap(({ changes = {} }) => pick(changes) ?? [])),
  ];
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
      ...Object.fromEntries(
        ['labels', 'annotations'].flatMap((map) => [mapOf(map, 'object'), mapOf(map, 'oldObject')]),
      ),
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

/** Names that contain dots and are no paths. */
const fieldsIn = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, true as const]));

const mapOf = (map: string, object: 'object' | 'oldObject'): [string, string] => [
  object === 'object' ? map : `${map}Before`,
  `dyn(${object}.metadata.?${map}.orValue({}))`,
];

const ownersSame = 'object.metadata.?ownerReferences.orValue([]) == oldObject.metadata.?ownerReferences.orValue([])';
const finalizersSame = 'object.metadata.?finalizers.orValue([]) == oldObject.metadata.?finalizers.orValue([])';

/**
 * A removable label may be removed but not changed. When the last label of a batch Job is removed, the server sets those of its pod
 * template.
 */
const labelRules = (role: RoleWithRights, labels: readonly string[], removed: readonly string[]): V1Validation[] => {
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

/** Other taints stay; that of standby nodes may only be removed. */
function taintRules(role: RoleWithRights, { taint, standbyTaint }: Installation): V1Validation[] {
  const taints = (spec: string): string => `variables.${spec}[?"taints"].orValue([])`;
  const isOurs = `(t.key == ${taint.key} && t.effect == ${taint.effect})`;
  const others = (spec: string): string => `${taints(spec)}.filter(t, !${isOurs} && t.key != ${standbyTaint})`;
  return [
    refuse(`the ${role} may change no taint but that of a quarantine`, `${others('spec')} ==\n${others('specBefore')}`),
    refuse(
      `the ${role} may add no standby taint`,
      `${taints('spec')}.all(t, t.key != ${standbyTaint} || ${isOurs} || t in ${taints('specBefore')})`,
    ),
  ];
}

function deletePolicy(role: RoleWithRights, permission: Permission, installation: Installation): Policy {
  const owner = '(o.apiVersion.split("/")[0] + "/" + o.kind)';
  const entries = Object.values(jobKinds);
  const kinds = listOf([...new Set(entries.map(({ group, objectKind }) => `${group}/${objectKind}`))]);
  const others = entries.flatMap(({ podsControlledBy: by, podsOfKind }) =>
    by === undefined
      ? []
      : [`(${owner} == ${textOf(by)} && ${textOf(podsOfKind)} in oldObject.metadata.?labels.orValue({}))`],
  );
  const isJobs = `o.?controller.orValue(false) && (${[`${owner} in ${kinds}`, ...others].join(' || ')})`;
  return {
    name: `kcover-${role}-${permission.resource}-deletion`,
    operations: ['DELETE'],
    resources: [permission],
    conditions: asRole(role, installation),
    validations: [
      refuse(
        `the ${role} may delete only pods that a training job controls`,
        `oldObject.metadata.?ownerReferences.orValue([]).exists(o, ${isJobs})`,
      ),
    ],
  };
}

function evictionPolicy(role: RoleWithRights, permission: Permission, installation: Installation): Policy {
  return {
    name: `kcover-${role}-evictions`,
    operations: ['CREATE'],
    resources: [permission],
    conditions: asRole(role, installation),
    validations: [
      refuse(
        `the ${role} may evict a pod only by its UID`,
        'object.?deleteOptions.?preconditions.?uid.orValue("") != ""',
      ),
    ],
  };
}
