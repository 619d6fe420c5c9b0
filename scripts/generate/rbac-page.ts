import { stringify } from 'yaml';
import { hookNamespace, ownNamespace, type Permission, permissions } from '../../kube/permissions.ts';
import { clusterRoles, repairRoles, roles } from '../../kube/rbac.ts';

/** The reason for each right, as comments. */
export const reasons = (): readonly string[] => [
  ...Object.entries(permissions).flatMap(([role, table]) => [
    `# ${role}:`,
    ...table.map((each) => `#   ${describe(each)}`),
  ]),
  '# agent: nothing.',
];

/** The rights of every role, as objects to apply; comments give the reason for each. */
export const rbacPage = (): string => {
  const accounts = Object.keys(permissions).map((role) => ({
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: { name: `kcover-${role}`, namespace: ownNamespace },
  }));
  return page(reasons(), [...accounts, ...clusterRoles(), ...roles()]);
};

/** The rights to repair nodes, with the namespace of hooks: only for an installation that does it. */
export const repairPage = (): string => {
  const labels = Object.fromEntries(
    ['enforce', 'warn', 'audit'].map((mode) => [`pod-security.kubernetes.io/${mode}`, 'privileged']),
  );
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: hookNamespace, labels } };
  return page(
    ['# Where remediation.mode is run; see docs/remediation.md.'],
    [namespace, ...repairRoles(hookNamespace)],
  );
};

const page = (comments: readonly string[], objects: readonly object[]): string =>
  [
    '# Made from kube/permissions.ts by npm run generate; changes here are lost.',
    '#',
    ...comments,
    ...objects.flatMap((object) => ['---', stringify(object, { lineWidth: 0 }).trimEnd()]),
    '',
  ].join('\n');

const whereRepaired = { cluster: ' where nodes are repaired', hooks: ' in remediation.namespace' } as const;

const describe = ({ resource, apiGroup, verbs, why, names, own, reports, repair }: Permission): string =>
  `${verbs.join(', ')} ${resource}${apiGroup === '' ? '' : `.${apiGroup}`}${names ? ` (${names.join(', ')})` : ''}${own ? ' in its own namespace' : ''}${reports ? ' in nodes.ascend.namespaces' : ''}${repair ? whereRepaired[repair] : ''}: ${why}`;
