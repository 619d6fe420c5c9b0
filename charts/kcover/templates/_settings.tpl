{{/* The settings file of each role: the settings of the values, and those that follow from the release. */}}

{{- define "kcover.settings.worker" -}}
{{- $derived := dict
  "temporal" (dict "taskQueue" .Values.temporal.taskQueue)
  "records" (dict "directory" "/var/lib/kcover/records")
  "recovery" (dict "evidence" (dict "directory" "/var/lib/kcover/evidence"))
  "health" (dict "listen" "0.0.0.0:9090")
-}}
{{- toYaml (mergeOverwrite (deepCopy .Values.settings.worker) $derived) -}}
{{- end -}}

{{- define "kcover.settings.controller" -}}
{{- $derived := dict
  "temporal" (dict "taskQueue" .Values.temporal.taskQueue)
  "taint" (dig "quarantine" "taint" dict .Values.settings.worker)
  "intake" (dict
    "listen" "0.0.0.0:8443"
    "tls" (dict "certFile" "/etc/kcover/tls/tls.crt" "keyFile" "/etc/kcover/tls/tls.key")
    "agentAccount" (printf "%s/%s" (include "kcover.agentNamespace" .) (include "kcover.serviceAccountName" (dict "root" . "role" "agent"))))
  "leaderElection" (dict "namespace" .Release.Namespace "name" (include "kcover.fullname" .))
  "health" (dict "listen" "0.0.0.0:9090")
-}}
{{- toYaml (mergeOverwrite (deepCopy .Values.settings.controller) $derived) -}}
{{- end -}}

{{- define "kcover.settings.agent" -}}
{{- $derived := dict
  "controller" (dict
    "url" (printf "https://%s:%d" (include "kcover.intakeHost" .) (int .Values.intake.port))
    "caFile" "/etc/kcover/tls/ca.crt"
    "tokenFile" "/var/run/secrets/kcover/token")
  "spool" (dict "directory" "/var/lib/kcover/agent")
  "health" (dict "listen" "0.0.0.0:9091")
-}}
{{- if .Values.agent.statusFile }}
{{- $_ := set $derived "statusFile" (dict "directory" "/var/lib/kcover/status") }}
{{- end }}
{{- toYaml (mergeOverwrite (deepCopy .Values.settings.agent) $derived) -}}
{{- end -}}
