/** What the chart adds where nodes are repaired. */

import { describe, expect, it } from '@jest/globals';
import { repairRoles } from '../../kube/rbac.ts';
import { essence, fullValues, render, valuesFile } from './rendered.ts';

describe('the rights of the chart', () => {
  it('to repair nodes are those of the table, and rendered only where nodes are repaired', async () => {
    const { objects } = await render(
      valuesFile({ settings: { worker: { remediation: { mode: 'run', namespace: 'repairs' } } } }),
    );
    const named = objects.filter(
      ({ apiVersion, metadata }) => apiVersion?.startsWith('rbac.') && metadata?.name?.endsWith('-repair'),
    );
    expect(named.map(essence)).toEqual(repairRoles('repairs').map(essence));
    expect(objects.find(({ kind, metadata }) => kind === 'Namespace' && metadata?.name === 'repairs')).toBeDefined();
    const byDefault = (await render()).objects.map(({ metadata }) => metadata?.name);
    expect(byDefault.filter((name) => /repair|hooks/.test(name ?? ''))).toEqual([]);
  });

  it('for the objects of hooks are rules of the values, and templates of hooks are files of the worker', async () => {
    const rendered = await render(fullValues);
    const [role, binding] = ['ClusterRole', 'ClusterRoleBinding'].map((kind) =>
      rendered.objects.find((object) => object.kind === kind && object.metadata?.name === 'gpu-care-worker-hooks'),
    );
    expect(role).toMatchObject({ rules: [{ resources: ['rebootnodes'], verbs: ['get', 'list', 'watch', 'create'] }] });
    expect(binding).toMatchObject({
      roleRef: { name: 'gpu-care-worker-hooks' },
      subjects: [{ name: 'gpu-care-worker' }],
    });
    const { container, spec } = rendered.pod('worker', 'gpu-care');
    expect(container.volumeMounts).toContainEqual({ name: 'hooks', mountPath: '/etc/kcover/hooks', readOnly: true });
    expect(spec.volumes).toContainEqual({ name: 'hooks', configMap: { name: 'gpu-care-hooks' } });
    expect(rendered.the('ConfigMap', 'gpu-care-hooks')).toMatchObject({ data: { 'reboot.yaml': expect.any(String) } });
  });
});
