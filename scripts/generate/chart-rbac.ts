import { stringify } from 'yaml';
import { leaseName, ownNamespace, permissions } from '../../kube/permissions.ts';
import {
  clusterRoles,
  repairName,
  repairRoles,
  reportRoles,
  reportsName,
  roles,
  tenantsName,
} from '../../kube/rbac.ts';
import { reasons } from './rbac-page.ts';

type RightsObject = ReturnType<typeof clusterRoles | typeof roles>[number];

/** `$`: the values of the release, also inside a range. */
const namespace = '{{ $.Release.Namespace }}';
const fullName = '{{ include "kcover.fullname" $ }}';

const accounts = Object.keys(permissions) as readonly (keyof typeof permissions)[];

/** Texts in the objects, with their replacements in the template. */
const placeholders: Readonly<Record<string, string>> = {
  [ownNamespace]: namespace,
  [leaseName]: fullName,
  ...Object.fromEntries(
    accounts.flatMap((role) =>
      [`kcover-${role}`, tenantsName(role), reportsName(role), repairName(role)].map((name) => [
        name,
        name.replace('kcover', fullName),
      ]),
    ),
  ),
};

/** The rights of the roles as a template of the chart: the same objects with the names of a release. */
export const chartRbac = (): string =>
  [
    '# Made from kube/permissions.ts by npm run generate; changes here are lost.',
    '#',
    ...reasons(),
    ...[...clusterRoles(), ...roles()].flatMap((object) =>
      isForTenants(object) ? inNamespaces(object) : ['---', template(object)],
    ),
    // A single dot stands for the namespace, inside the range.
    '{{- range dig "nodes" "ascend" "namespaces" (list) .Values.settings.controller }}',
    ...reportRoles('{{ . }}').flatMap((object) => ['---', template(object)]),
    '{{- end }}',
    '{{- if eq (include "kcover.repairs" .) "true" }}',
    ...repairRoles('{{ include "kcover.hookNamespace" $ }}').flatMap((object) => ['---', template(object)]),
    '{{- end }}',
    ...extraRules,
    '',
  ].join('\n');

/** Rights for the kinds of objects that hooks create, which only the operator knows. */
const extraRules = [
  '{{- with .Values.rbac.hookRules }}',
  ...['ClusterRole', 'ClusterRoleBinding'].flatMap((kind) => [
    '---',
    'apiVersion: rbac.authorization.k8s.io/v1',
    `kind: ${kind}`,
    'metadata:',
    `  name: ${fullName}-worker-hooks`,
    '  labels: {{- include "kcover.labels" $ | nindent 4 }}',
    ...(kind === 'ClusterRole'
      ? ['rules: {{- toYaml . | nindent 2 }}']
      : [
          'roleRef:',
          '  apiGroup: rbac.authorization.k8s.io',
          '  kind: ClusterRole',
          `  name: ${fullName}-worker-hooks`,
          'subjects:',
          '  - kind: ServiceAccount',
          '    name: {{ include "kcover.serviceAccountName" (dict "root" $ "role" "worker") }}',
          `    namespace: ${namespace}`,
        ]),
  ]),
  '{{- end }}',
];

const isForTenants = ({ kind, metadata }: RightsObject): boolean =>
  kind === 'ClusterRoleBinding' && accounts.some((role) => metadata?.name === tenantsName(role));

/** In the namespaces that the values list; in all when they list none. */
const inNamespaces = (object: RightsObject): readonly string[] => [
  '{{- range .Values.rbac.namespaces }}',
  '---',
  template({ ...object, kind: 'RoleBinding', metadata: { ...object.metadata, namespace: '{{ . }}' } }),
  '{{- else }}',
  '---',
  template(object),
  '{{- end }}',
];

function template(object: RightsObject): string {
  const account = 'subjects' in object && object.subjects?.[0]?.name.replace('kcover-', '');
  const named = {
    ...object,
    metadata: { ...object.metadata, labels: 'LABELS' },
    // An account may have its own name; everything else is named after the release.
    ...(account && {
      subjects: [
        {
          kind: 'ServiceAccount',
          name: `{{ include "kcover.serviceAccountName" (dict "root" $ "role" "${account}") }}`,
          namespace: ownNamespace,
        },
      ],
    }),
  };
  const text = stringify(
    named,
    (_key, value: unknown) => (typeof value === 'string' ? (placeholders[value] ?? value) : value),
    { lineWidth: 0 },
  );
  return text.trimEnd().replace('labels: LABELS', 'labels: {{- include "kcover.labels" $ | nindent 4 }}');
}
