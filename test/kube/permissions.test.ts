import { describe, expect, it } from '@jest/globals';
import { jobKinds } from '../../kube/jobs/kinds/index.ts';
import { permissions, type Permission } from '../../kube/permissions.ts';
import { clusterRoles, reportRoles, roles } from '../../kube/rbac.ts';

const verbsOf = (role: keyof typeof permissions, resource: string, group?: string): readonly string[] => {
  const table: readonly Permission[] = permissions[role];
  return table
    .filter((each) => each.resource === resource && (group === undefined || each.apiGroup === group))
    .flatMap(({ verbs }) => verbs);
};

describe('permissions', () => {
  it('let the controller write nothing but reviews, its Lease, annotations of jobs and, in its own namespace, labels of pods and its position in Loki', () => {
    const table: readonly Permission[] = permissions.controller;
    const writing = table
      .filter(({ verbs }) => verbs.some((verb) => !['get', 'list', 'watch'].includes(verb)))
      .map(({ resource }) => resource);
    expect(new Set(writing)).toEqual(
      new Set(['tokenreviews', 'leases', 'pods', 'configmaps', ...Object.values(jobKinds).map(({ plural }) => plural)]),
    );
    expect(table.find(({ resource, verbs }) => resource === 'pods' && verbs.includes('patch'))).toMatchObject({
      own: true,
      verbs: ['patch'],
    });
    for (const { group, plural } of Object.values(jobKinds))
      expect(verbsOf('controller', plural, group)).toEqual(['get', 'list', 'watch', 'patch']);
  });

  it('let the worker patch nodes and jobs, and never delete them', () => {
    for (const resource of ['nodes', ...Object.values(jobKinds).map(({ plural }) => plural)]) {
      expect(verbsOf('worker', resource)).toContain('patch');
      expect(verbsOf('worker', resource)).not.toContain('delete');
      expect(verbsOf('worker', resource)).not.toContain('update');
    }
  });

  it('name no wildcard', () => {
    expect(JSON.stringify([clusterRoles(), roles()])).not.toContain('*');
  });

  it('keep what changes jobs, deletes pods or reads logs apart from the rest, so that it can be bound to some namespaces', () => {
    const rulesOf = (name: string) =>
      clusterRoles().flatMap((object) =>
        'rules' in object && object.metadata?.name === name ? (object.rules ?? []) : [],
      );
    const looks = ['get', 'list', 'watch'];
    for (const role of ['controller', 'worker']) {
      const acts = rulesOf(`kcover-${role}`).filter(({ verbs }) => verbs.some((verb) => !looks.includes(verb)));
      expect(acts.flatMap(({ resources }) => resources)).toEqual(
        role === 'worker' ? ['nodes', 'events'] : ['tokenreviews'],
      );
      expect(rulesOf(`kcover-${role}`).flatMap(({ resources }) => resources)).not.toContain('pods/log');
    }
    expect(rulesOf('kcover-worker-jobs').flatMap(({ resources }) => resources)).toEqual(
      expect.arrayContaining(['pods', 'pods/log', ...Object.values(jobKinds).map(({ plural }) => plural)]),
    );
  });

  it('render a role and its binding for each service account', () => {
    expect(clusterRoles().map(({ kind, metadata }) => `${kind}/${metadata?.name}`)).toEqual([
      'ClusterRole/kcover-controller',
      'ClusterRoleBinding/kcover-controller',
      'ClusterRole/kcover-controller-jobs',
      'ClusterRoleBinding/kcover-controller-jobs',
      'ClusterRole/kcover-worker',
      'ClusterRoleBinding/kcover-worker',
      'ClusterRole/kcover-worker-jobs',
      'ClusterRoleBinding/kcover-worker-jobs',
    ]);
  });

  it('let the controller read ConfigMaps of others only in the namespaces that settings name', () => {
    const [role, binding, ...others] = reportRoles('kube-system');
    expect(others).toEqual([]);
    expect(role).toMatchObject({
      kind: 'Role',
      metadata: { namespace: 'kube-system' },
      rules: [{ resources: ['configmaps'], verbs: ['get', 'list', 'watch'] }],
    });
    expect(binding).toMatchObject({
      kind: 'RoleBinding',
      metadata: { namespace: 'kube-system' },
      subjects: [{ name: 'kcover-controller', namespace: 'kcover-system' }],
    });
    for (const object of roles())
      if ('rules' in object)
        expect(
          object.rules?.flatMap(({ resources, verbs }) => (resources?.includes('configmaps') ? verbs : [])),
        ).toEqual(['create', 'get', 'patch']);
  });

  it('keep the Lease and the pause inside kcover-system', () => {
    expect(roles().map(({ kind, metadata }) => `${kind}/${metadata?.namespace}/${metadata?.name}`)).toEqual([
      'Role/kcover-system/kcover-controller',
      'RoleBinding/kcover-system/kcover-controller',
      'Role/kcover-system/kcover-worker',
      'RoleBinding/kcover-system/kcover-worker',
    ]);
    expect(JSON.stringify(clusterRoles())).not.toMatch(/leases|configmaps/);
  });
});
