import { stringify } from 'yaml';
import { clusterRoles, ownNamespace, type Permission, permissions, roles } from '../../kube/permissions.ts';

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
  const documents = [...accounts, ...clusterRoles(), ...roles()].map((object) => stringify(object, { lineWidth: 0 }));
  return (
    ['# Made from kube/permissions.ts by npm run generate; changes here are lost.', '#', ...reasons(), ''].join('\n') +
    `---\n${documents.join('---\n')}`
  );
};

const describe = ({ resource, apiGroup, verbs, why, names, own, reports }: Permission): string =>
  `${verbs.join(', ')} ${resource}${apiGroup === '' ? '' : `.${apiGroup}`}${names ? ` (${names.join(', ')})` : ''}${own ? ' in its own namespace' : ''}${reports ? ' in nodes.ascend.namespaces' : ''}: ${why}`;
