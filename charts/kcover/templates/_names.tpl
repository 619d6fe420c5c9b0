{{- define "kcover.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "kcover.selector" -}}
app.kubernetes.io/name: {{ default .Chart.Name .Values.nameOverride }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "kcover.labels" -}}
{{ include "kcover.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Takes root and role, like all templates below that concern one role. */}}
{{- define "kcover.roleSelector" -}}
{{ include "kcover.selector" .root }}
app.kubernetes.io/component: {{ .role }}
{{- end -}}

{{- define "kcover.roleLabels" -}}
{{ include "kcover.labels" .root }}
app.kubernetes.io/component: {{ .role }}
{{- end -}}

{{- define "kcover.serviceAccountName" -}}
{{- $account := (index .root.Values .role).serviceAccount -}}
{{- if $account.name -}}
{{- $account.name -}}
{{- else if $account.create -}}
{{- include "kcover.fullname" .root }}-{{ .role -}}
{{- else -}}
{{- fail (printf "%s.serviceAccount.name is needed where %s.serviceAccount.create is false" .role .role) -}}
{{- end -}}
{{- end -}}

{{/* Agents have an image of their own, from the same registry. */}}
{{- define "kcover.image" -}}
{{- $common := .root.Values.image -}}
{{- $image := ternary .root.Values.agent.image $common (eq .role "agent") -}}
{{- $registry := default .root.Values.global.imageRegistry $common.registry -}}
{{- if $registry }}{{ $registry }}/{{ end -}}
{{- $image.repository -}}
{{- if $image.digest }}@{{ $image.digest }}{{ else }}:{{ coalesce $image.tag $common.tag .root.Chart.AppVersion }}{{ end -}}
{{- end -}}

{{- define "kcover.agentNamespace" -}}
{{- default (printf "%s-agents" (.Release.Namespace | trunc 56 | trimSuffix "-")) .Values.agent.namespace -}}
{{- end -}}

{{/* Namespace of a role: agents are privileged, and have one of their own. */}}
{{- define "kcover.namespace" -}}
{{- if eq .role "agent" }}{{ include "kcover.agentNamespace" .root }}{{ else }}{{ .root.Release.Namespace }}{{ end -}}
{{- end -}}

{{/* The address to which agents connect. */}}
{{- define "kcover.intakeHost" -}}
{{ include "kcover.fullname" . }}-intake.{{ .Release.Namespace }}.svc
{{- end -}}

{{- define "kcover.intakeSecret" -}}
{{- default (printf "%s-intake" (include "kcover.fullname" .)) .Values.intake.tls.existingSecret -}}
{{- end -}}

{{- define "kcover.intakeAuthority" -}}
{{- default (printf "%s-intake-ca" (include "kcover.fullname" .)) .Values.intake.tls.caConfigMap -}}
{{- end -}}

{{/* Whether nodes are repaired, and the namespace of the Jobs that do it. */}}
{{- define "kcover.repairs" -}}
{{- eq "run" (dig "remediation" "mode" "off" .Values.settings.worker) -}}
{{- end -}}

{{- define "kcover.hookNamespace" -}}
{{- dig "remediation" "namespace" "kcover-hooks" .Values.settings.worker -}}
{{- end -}}

{{/* Without the API, helm's own message does not say what to do. Arguments: root, and the value that asks for the object. */}}
{{- define "kcover.needsPrometheusOperator" -}}
{{- if not (.root.Capabilities.APIVersions.Has "monitoring.coreos.com/v1") }}
{{- fail (printf "%s needs the API monitoring.coreos.com/v1, which this cluster does not have: install the Prometheus operator first, or set it to false; helm template, which asks no cluster, needs --api-versions monitoring.coreos.com/v1" .value) }}
{{- end }}
{{- end -}}
