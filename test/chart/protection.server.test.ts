/** How the chart limits the damage of a compromised part: namespaces, network, admission, rights. */

import { beforeAll, describe, expect, it } from '@jest/globals';
import { parseSettings, type RoleName, roles } from '../../cli/settings/file.ts';
import type { KubernetesObject } from '@kubernetes/client-node';
import { labels } from '../../contract/ids.ts';
import { admissionPolicies, byDefault as byHand } from '../../kube/admission/index.ts';
import { fullValues, notes, render, type Rendered, valuesFile } from './rendered.ts';

let byDefault: Rendered;
let full: Rendered;

beforeAll(async () => {
  [byDefault, full] = await Promise.all([render(), render(fullValues)]);
});

describe('the agents', () => {
  it('have a namespace of their own, which alone allows privileged pods', async () => {
    const theirs = [
      'DaemonSet/kcover-agent',
      'ServiceAccount/kcover-agent',
      'ConfigMap/kcover-agent',
      'ConfigMap/kcover-intake-ca',
      'NetworkPolicy/kcover-agent',
    ];
    const inNamespace = (rendered: Rendered, namespace: string) =>
      rendered.objects
        .filter(({ metadata }) => metadata?.namespace === namespace)
        .map(({ kind, metadata }) => `${kind}/${metadata?.name}`);
    expect(inNamespace(byDefault, 'kcover-system-agents').toSorted()).toEqual(theirs.toSorted());
    expect(byDefault.the('Namespace', 'kcover-system-agents').metadata?.labels).toMatchObject({
      'pod-security.kubernetes.io/enforce': 'privileged',
    });
    const elsewhere = await render(valuesFile({ agent: { namespace: 'gpu-agents', createNamespace: false } }));
    expect(inNamespace(elsewhere, 'gpu-agents').toSorted()).toEqual(theirs.toSorted());
    expect(elsewhere.names()).not.toContain('Namespace/gpu-agents');
    expect(
      parseSettings('controller', 'controller.yaml', elsewhere.settings('controller')).settings.intake.agentAccount,
    ).toBe('gpu-agents/kcover-agent');
  });
});

describe('network policies', () => {
  const ports = (rendered: Rendered, name: string) =>
    rendered.the('NetworkPolicy', name).spec?.ingress?.map((rule) => rule.ports?.map(({ port }) => port));

  it('open the intake to agents and preflight pods, metrics to one namespace, and nothing else', () => {
    const { ingress, policyTypes } = byDefault.the('NetworkPolicy', 'kcover-controller').spec ?? {};
    expect(policyTypes).toEqual(['Ingress']);
    expect(ingress?.[0]).toEqual({
      ports: [{ port: 8443 }],
      from: [
        {
          namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'kcover-system-agents' } },
          podSelector: { matchLabels: expect.objectContaining({ 'app.kubernetes.io/component': 'agent' }) },
        },
        { namespaceSelector: {}, podSelector: { matchLabels: { [labels.preflight]: 'true' } } },
      ],
    });
    expect(ports(byDefault, 'kcover-controller')).toEqual([[8443], [9090]]);
    expect(ports(byDefault, 'kcover-worker')).toEqual([[9090]]);
    expect(ports(byDefault, 'kcover-agent')).toEqual([[9091]]);
    for (const role of roles) expect(byDefault.template(role).metadata?.labels).toMatchObject(selectorOf(role));
  });

  const selectorOf = (role: RoleName) =>
    byDefault.the('NetworkPolicy', `kcover-${role}`).spec?.podSelector?.matchLabels ?? {};

  it('close what the values leave out, restrict egress on request, and can be disabled', async () => {
    const to = [{ ports: [{ port: 7233 }] }];
    const closed = await render(valuesFile({ networkPolicy: { metricsFrom: [], egress: to } }));
    expect(ports(closed, 'kcover-worker') ?? []).toEqual([]);
    expect(closed.the('NetworkPolicy', 'kcover-worker').spec).toMatchObject({
      policyTypes: ['Ingress', 'Egress'],
      egress: to,
    });
    expect(closed.the('NetworkPolicy', 'kcover-agent').spec?.policyTypes).toEqual(['Ingress']);
    const none = await render(valuesFile({ networkPolicy: { enabled: false } }));
    expect(none.names().filter((name) => name.startsWith('NetworkPolicy/'))).toEqual([]);
  });
});

describe('admission policies', () => {
  it('use the accounts, the taints and the directory of the values', () => {
    const nodes = JSON.stringify(full.the('ValidatingAdmissionPolicy', 'gpu-care-worker-nodes'));
    expect(nodes).toContain('trainy.konduktor.ai/faulty');
    expect(nodes).not.toContain('kcover.io/quarantine\\"');
    expect(JSON.stringify(full.the('ValidatingAdmissionPolicy', 'gpu-care-controller-pods'))).toContain(
      'system:serviceaccount:kcover-system:care-controller',
    );
    expect(JSON.stringify(full.the('ValidatingAdmissionPolicy', 'gpu-care-host-paths'))).toContain('/data/kcover');
  });

  it('are those of an installation without the chart', () => {
    const specs = (objects: readonly KubernetesObject[]) =>
      objects
        .filter(({ apiVersion }) => apiVersion?.startsWith('admissionregistration.'))
        .map(({ kind, metadata, ...rest }) => [kind, metadata?.name, rest]);
    expect(specs(byDefault.objects).toSorted(byText)).toEqual(specs(admissionPolicies(byHand)).toSorted(byText));
    expect(specs(byDefault.objects)).toHaveLength(14);
  });

  const byText = (a: unknown, b: unknown): number => JSON.stringify(a).localeCompare(JSON.stringify(b));

  it('can be left out', async () => {
    const without = await render(valuesFile({ admission: { enabled: false } }));
    expect(without.names().filter((name) => name.startsWith('ValidatingAdmission'))).toEqual([]);
  });
});

describe('rights in the namespaces of jobs', () => {
  it('are bound only in the namespaces of the values', async () => {
    const bound = await render(valuesFile({ rbac: { namespaces: ['train', 'research'] } }));
    const bindings = bound.objects.filter(
      ({ kind, metadata }) => kind?.endsWith('RoleBinding') && metadata?.name?.endsWith('-jobs'),
    );
    expect(bindings.map(({ kind, metadata }) => `${kind}/${metadata?.namespace}/${metadata?.name}`).toSorted()).toEqual(
      ['research', 'train'].flatMap((namespace) => [
        `RoleBinding/${namespace}/kcover-controller-jobs`,
        `RoleBinding/${namespace}/kcover-worker-jobs`,
      ]),
    );
  });
});

describe('the notes', () => {
  it('warn of a Temporal without authentication', async () => {
    expect(await notes({})).toMatch(
      /WARNING: Temporal does not authenticate clients, and the connection is plain text/,
    );
    expect(await notes({ temporal: { tls: { enabled: true } } })).toMatch(
      /WARNING: Temporal does not authenticate clients\. /,
    );
    expect(await notes({ temporal: { apiKey: { existingSecret: 'key' } } })).not.toContain('WARNING');
    expect(await notes({ temporal: { namespace: 'default', apiKey: { existingSecret: 'key' } } })).toContain(
      'WARNING: the Temporal namespace default',
    );
    const open = await notes({
      temporal: { apiKey: { existingSecret: 'key' } },
      admission: { enabled: false },
      networkPolicy: { enabled: false },
    });
    expect(open.match(/WARNING/g)).toHaveLength(2);
  });

  it('say, with network policies, who may read metrics and how to open the intake to preflight pods on the host network', async () => {
    const closed = await notes({});
    expect(closed).toContain('{"namespaceSelector":{"matchLabels":{"kubernetes.io/metadata.name":"monitoring"}}}');
    expect(closed).toMatch(/hostNetwork: true[\s\S]*networkPolicy\.intakeFrom[\s\S]*ipBlock/);
    expect(await notes({ networkPolicy: { metricsFrom: [] } })).toMatch(/metricsFrom[^\n]*\n {2}none\n/);
    expect(await notes({ networkPolicy: { intakeFrom: [{ ipBlock: { cidr: '10.7.0.0/16' } }] } })).toContain(
      '(now: [{"ipBlock":{"cidr":"10.7.0.0/16"}}])',
    );
    expect(await notes({ networkPolicy: { enabled: false } })).not.toMatch(/metricsFrom|hostNetwork/);
  });
});
