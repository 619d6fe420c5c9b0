import { describe, expect, it } from '@jest/globals';
import type { KubernetesObject } from '@kubernetes/client-node';
import { annotations, labels, leaderLabel } from '../../contract/ids.ts';
import { jobKinds as kinds } from '../../contract/job/jobs.ts';
import { admissionPolicies, byDefault } from '../../kube/admission/index.ts';
import { fieldsOf, sameBut } from '../../kube/admission/expressions.ts';
import { jobKinds } from '../../kube/jobs/kinds/index.ts';
import { type Permission, permissions } from '../../kube/permissions.ts';
import { manifestOf } from '../../testbed/set-manifests.ts';

const table: readonly Permission[] = [...permissions.controller, ...permissions.worker];
const policies = admissionPolicies(byDefault);

/** `runPolicy.suspend` for each value in the object. */
const pathsIn = (object: object, above = ''): string[] =>
  Object.entries(object).flatMap(([name, value]: [string, unknown]) =>
    typeof value === 'object' && value !== null ? pathsIn(value, `${above}${name}.`) : [above + name],
  );

describe('admission policies', () => {
  it('hold every right to patch or delete, but for the Lease, which its name holds', () => {
    const acting = table.filter(
      ({ verbs, names }) => verbs.some((verb) => verb === 'patch' || verb.startsWith('delete')) && names === undefined,
    );
    expect(acting.filter(({ changes, deletes }) => !changes && !deletes)).toEqual([]);
    const held = policies.flatMap((object) =>
      object.kind === 'ValidatingAdmissionPolicy' && object.spec && 'matchConstraints' in object.spec
        ? (object.spec.matchConstraints?.resourceRules ?? []).flatMap(({ resources = [] }) => resources)
        : [],
    );
    expect(acting.filter(({ resource }) => !held.includes(resource))).toEqual([]);
  });

  it('let every annotation and label be written that kcover knows as its own', () => {
    expect(new Set(table.flatMap(({ changes }) => changes?.annotations ?? []))).toEqual(
      new Set(Object.values(annotations)),
    );
    expect(
      new Set(table.flatMap(({ changes }) => [...(changes?.labels ?? []), ...(changes?.removedLabels ?? [])])),
    ).toEqual(new Set([leaderLabel.key, labels.needRecovery]));
  });

  it('are each bound', () => {
    const names = (kind: string) =>
      policies.filter((object) => object.kind === kind).map(({ metadata }) => metadata?.name);
    expect(names('ValidatingAdmissionPolicyBinding')).toEqual(names('ValidatingAdmissionPolicy'));
    expect(names('ValidatingAdmissionPolicy')).toHaveLength(7);
  });

  it.each(kinds)('let the worker write what stops and resizes a %s', (kind) => {
    const entry = jobKinds[kind];
    const { spec } = manifestOf(kind, { name: 'x' });
    const gang: KubernetesObject & { spec: object } = {
      kind,
      spec: { ...spec, runPolicy: { schedulingPolicy: { minAvailable: 3 } } },
    };
    const patches = [
      entry.suspend?.(true) ?? {},
      entry.suspend?.(false) ?? {},
      entry.resizing?.patch(gang, { pods: 2, priorityClass: 'high' }) ?? {},
    ];
    const writes = patches
      .flatMap((patch) => pathsIn(patch))
      .map((path) => path.replace(/ReplicaSpecs\.\w+/, 'ReplicaSpecs.*'));
    expect(writes.length > 1).toBe(entry.suspend !== undefined);
    expect(writes.filter((path) => !entry.writes.includes(path))).toEqual([]);
  });
});

describe('an expression', () => {
  it('takes paths as a tree', () => {
    expect(fieldsOf(['suspend', 'run.suspend', 'run.gang.least', 'roles.*.replicas'])).toEqual({
      suspend: true,
      run: { suspend: true, gang: { least: true } },
      roles: { '*': { replicas: true } },
    });
  });

  it('asks for the same keys on both sides where nothing may differ', () => {
    expect(sameBut({}, 'a', 'b')).toBe('a.all(k0, (k0 in b && a[k0] == b[k0])) &&\nb.all(k0, k0 in a)');
  });
});
