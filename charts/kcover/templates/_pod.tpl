{{/* Common parts of the pods of all roles. */}}

{{- define "kcover.podMetadata" -}}
labels:
  {{- include "kcover.roleLabels" . | nindent 2 }}
  {{- with (index .root.Values .role).podLabels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
annotations:
  # Settings are read at the start, so changed settings need new pods.
  checksum/settings: {{ include (printf "kcover.settings.%s" .role) .root | sha256sum }}
  {{- with (index .root.Values .role).podAnnotations }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}

{{- define "kcover.podSpec" -}}
{{- $pod := index .root.Values .role -}}
serviceAccountName: {{ include "kcover.serviceAccountName" . }}
enableServiceLinks: false
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $pod.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with $pod.podSecurityContext }}
securityContext:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $pod.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $pod.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $pod.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* Replicas on one node would fail together with it. */}}
{{- define "kcover.spread" -}}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "kcover.roleSelector" . | nindent 8 }}
{{- end -}}

{{- define "kcover.container" -}}
{{- $pod := index .root.Values .role -}}
name: {{ .role }}
image: {{ include "kcover.image" . }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
{{- with $pod.securityContext }}
securityContext:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $pod.resources }}
resources:
  {{- toYaml . | nindent 2 }}
{{- end }}
livenessProbe:
  httpGet: { path: /livez, port: health }
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
readinessProbe:
  httpGet: { path: /readyz, port: health }
  periodSeconds: 5
  timeoutSeconds: 5
{{- end -}}

{{/*
V8 would take about half of the memory limit for its heap, whatever else needs memory. The worker has a second heap for workflows, and
the core of its Temporal client beside both.
*/}}
{{- define "kcover.heapEnv" -}}
{{- $pod := index .root.Values .role -}}
{{- $names := list }}
{{- range $pod.env }}{{ $names = append $names .name }}{{ end }}
{{- if and (dig "limits" "memory" "" $pod.resources) (not (has "NODE_OPTIONS" $names)) }}
- name: NODE_OPTIONS
  value: --max-old-space-size-percentage={{ ternary 60 75 (eq .role "worker") }}
{{- end }}
{{- end -}}

{{- define "kcover.settingsVolume" -}}
- name: settings
  configMap:
    name: {{ include "kcover.fullname" .root }}-{{ .role }}
{{- end -}}

{{/* The variables that Temporal's own tools read, too. */}}
{{- define "kcover.temporalEnv" -}}
{{- $temporal := .Values.temporal -}}
{{- $tls := $temporal.tls -}}
- name: TEMPORAL_ADDRESS
  value: {{ $temporal.address | quote }}
- name: TEMPORAL_NAMESPACE
  value: {{ $temporal.namespace | quote }}
{{- with $temporal.apiKey.existingSecret }}
- name: TEMPORAL_API_KEY
  valueFrom:
    secretKeyRef:
      name: {{ . }}
      key: {{ $temporal.apiKey.key }}
{{- end }}
{{- if or $tls.enabled $tls.caSecret $tls.clientSecret $temporal.apiKey.existingSecret }}
- name: TEMPORAL_TLS
  value: 'true'
{{- end }}
{{- with $tls.serverName }}
- name: TEMPORAL_TLS_SERVER_NAME
  value: {{ . | quote }}
{{- end }}
{{- if $tls.caSecret }}
- name: TEMPORAL_TLS_SERVER_CA_CERT_PATH
  value: /etc/kcover/temporal/ca/ca.crt
{{- end }}
{{- if $tls.clientSecret }}
- name: TEMPORAL_TLS_CLIENT_CERT_PATH
  value: /etc/kcover/temporal/client/tls.crt
- name: TEMPORAL_TLS_CLIENT_KEY_PATH
  value: /etc/kcover/temporal/client/tls.key
{{- end }}
{{- end -}}

{{- define "kcover.temporalMounts" -}}
{{- if .Values.temporal.tls.caSecret }}
- { name: temporal-ca, mountPath: /etc/kcover/temporal/ca, readOnly: true }
{{- end }}
{{- if .Values.temporal.tls.clientSecret }}
- { name: temporal-client, mountPath: /etc/kcover/temporal/client, readOnly: true }
{{- end }}
{{- end -}}

{{- define "kcover.temporalVolumes" -}}
{{- with .Values.temporal.tls.caSecret }}
- name: temporal-ca
  secret:
    secretName: {{ . }}
    items: [{ key: ca.crt, path: ca.crt }]
{{- end }}
{{- with .Values.temporal.tls.clientSecret }}
- name: temporal-client
  secret:
    secretName: {{ . }}
    items: [{ key: tls.crt, path: tls.crt }, { key: tls.key, path: tls.key }]
{{- end }}
{{- end -}}
