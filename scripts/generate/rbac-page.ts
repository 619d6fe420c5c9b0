import { stringify } from 'yaml';
import { clusterRoles, ownNamespace, type Permission, permissions, roles } from '../../kube/permissions.ts';

/** The rights of every role, as objects that can be applied; the comment says what each is for. */
export const rbacPage = (): string => {
  const reasons = Object.entries(permissions).flatMap(([role, table]) => [`# ${role}:`, ...table.map((each) => `#   ${describe(each)}`)]);
  const accounts = Object.keys(permissions).map((role) => ({
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: { name: `kcover-${role}`, namespace: ownNamespace },
  }));
  const documents = [...accounts, ...clusterRoles(), ...roles()].map((object) => stringify(object, { lineWidth: 0 }));
  return (
    ['# Made from kube/permissions.ts by npm run generate; changes here are lost.', '#', ...reasons, '# agent: nothing.', ''].join('\n') +
    `---\n${documents.join('---\n')}`
  );
};

const describe = ({ resource, apiGroup, verbs, why, names, own }: Permission): string =>
  `${verbs.join(', ')} ${resource}${apiGroup === '' ? '' : `.${apiGroup}`}${names ? ` (${names.join(', ')})` : ''}${own ? ' in its own namespace' : ''}: ${why}`;
