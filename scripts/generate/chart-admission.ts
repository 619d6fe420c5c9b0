import { Document, isPair, isScalar, visit } from 'yaml';
import { admissionPolicies, byDefault, type Installation } from '../../kube/admission/index.ts';

const userOf = (role: string): string =>
  `{{ printf "system:serviceaccount:%s:%s" .Release.Namespace (include "kcover.serviceAccountName" (dict "root" . "role" "${role}")) | toJson }}`;

/** Names of a release: their texts become CEL literals when the chart is rendered. */
const released: Installation = {
  controller: userOf('controller'),
  worker: userOf('worker'),
  taint: {
    key: `{{ dig "quarantine" "taint" "key" ${byDefault.taint.key} .Values.settings.worker | toJson }}`,
    effect: `{{ dig "quarantine" "taint" "effect" ${byDefault.taint.effect} .Values.settings.worker | toJson }}`,
  },
  standbyTaint: `{{ dig "recovery" "capacity" "standbyTaint" ${byDefault.standbyTaint} .Values.settings.worker | toJson }}`,
  agents: {
    namespace: '{{ include "kcover.agentNamespace" . | toJson }}',
    account: '{{ include "kcover.serviceAccountName" (dict "root" . "role" "agent") | toJson }}',
  },
  directory: '{{ .Values.agent.stateDirectory | toJson }}',
};

const head = (from: string): string => `# Made from ${from} by npm run generate; changes here are lost.\n`;
const source = 'kube/permissions.ts and kube/admission/';

/** The policies as a template of the chart, with the names of a release. */
export const chartAdmission = (): string =>
  [
    head(source) + '{{- if .Values.admission.enabled }}',
    ...admissionPolicies(released).map((object) =>
      textOf({ ...object, metadata: { ...object.metadata, labels: 'LABELS' } })
        .replaceAll(/(name|policyName): kcover-/g, '$1: {{ include "kcover.fullname" . }}-')
        .replace('labels: LABELS', 'labels: {{- include "kcover.labels" . | nindent 4 }}'),
    ),
    '{{- end }}\n',
  ]
    .join('\n---\n')
    .replace(/\n---\n(\{\{- end)/, '\n$1');

/** The policies as objects to apply, for an installation without the chart. */
export const admissionPage = (): string =>
  [head(source), ...admissionPolicies(byDefault).map(textOf)].join('\n---\n') + '\n';

/** Expressions are written unescaped: quotes in them belong to CEL. */
function textOf(object: object): string {
  const document = new Document(object);
  visit(document, {
    Pair: (_, pair) => {
      if (isPair(pair) && isScalar(pair.key) && pair.key.value === 'expression' && isScalar(pair.value))
        pair.value.type = 'BLOCK_LITERAL';
    },
  });
  return document.toString({ lineWidth: 0 }).trimEnd();
}
