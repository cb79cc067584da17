{{- /* The name of all objects. That of a Service begins with a letter and has no dots. */ -}}
{{- define "policyd.name" -}}
{{- $release := .Release.Name | replace "." "-" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 52 | trimAll "-" -}}
{{- else if regexMatch "^[0-9]" $release -}}
{{- printf "policyd-%s" ($release | trunc 44 | trimAll "-") -}}
{{- else if contains "policyd" $release -}}
{{- $release | trunc 52 | trimAll "-" -}}
{{- else -}}
{{- printf "%s-policyd" ($release | trunc 44 | trimAll "-") -}}
{{- end -}}
{{- end -}}

{{- /* The labels by which the Pods are selected. They cannot be changed by an upgrade. */ -}}
{{- define "policyd.selector" -}}
app.kubernetes.io/name: policyd
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end -}}

{{- define "policyd.labels" -}}
{{ include "policyd.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service | quote }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | quote }}
{{- with .Values.labels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- /* Name, namespace and labels of a namespaced object: (list context name), or also more labels */ -}}
{{- define "policyd.metadata" -}}
{{- $context := index . 0 -}}
name: {{ index . 1 | quote }}
namespace: {{ $context.Release.Namespace | quote }}
labels:
  {{- merge (dict) (slice . 2 | first | default dict) (include "policyd.labels" $context | fromYaml) | toYaml | nindent 2 }}
{{- end -}}

{{- define "policyd.serviceAccount" -}}
{{- if .Values.serviceAccount.name -}}
{{- .Values.serviceAccount.name -}}
{{- else if .Values.serviceAccount.create -}}
{{- include "policyd.name" . -}}
{{- else -}}
default
{{- end -}}
{{- end -}}

{{- define "policyd.secret" -}}
{{- .Values.certificates.secretName | default (printf "%s-tls" (include "policyd.name" .)) -}}
{{- end -}}

{{- /* "true" if policyd talks to the API server. */ -}}
{{- define "policyd.connects" -}}
{{- if or (not .Values.static.enabled) .Values.static.clusterLookups -}}true{{- end -}}
{{- end -}}

{{- /* "true" if policyd reads exceptions of teams. */ -}}
{{- define "policyd.excepts" -}}
{{- if .Values.exceptions.namespaces -}}
{{- if not (include "policyd.connects" .) -}}
{{- fail "exceptions.namespaces needs the permission to read ConfigMaps: policyd has none with static.enabled" -}}
{{- end -}}
true
{{- end -}}
{{- end -}}

{{- /* "true" if the namespaces of exceptions have wildcards: then policyd lists those of all namespaces. */ -}}
{{- define "policyd.exceptsByPattern" -}}
{{- if regexMatch "[*?]" (join "," .Values.exceptions.namespaces) -}}true{{- end -}}
{{- end -}}

{{- /* How the API server enforces policies itself; empty if policyd has nothing to do with that. */ -}}
{{- define "policyd.inTree" -}}
{{- if and .Values.static.enabled .Values.inTree.mode -}}
{{- fail "inTree.mode needs the permission to write policies of the API server: policyd has none with static.enabled" -}}
{{- end -}}
{{- .Values.inTree.mode -}}
{{- end -}}

{{- /* "true" if denials become Events. */ -}}
{{- define "policyd.events" -}}
{{- if and .Values.events (not (include "policyd.connects" .)) -}}
{{- fail "events needs the permission to write Events: with static.enabled, set static.clusterLookups" -}}
{{- end -}}
{{- if .Values.events -}}true{{- end -}}
{{- end -}}

{{- /* "true" if reviews need a token of the API server. */ -}}
{{- define "policyd.requiresToken" -}}
{{- with .Values.apiServerToken -}}
{{- if .required -}}
{{- if and .keysConfigMap (not .issuer) -}}
{{- fail "apiServerToken.keysConfigMap needs apiServerToken.issuer: keys do not name their issuer" -}}
{{- end -}}
{{- if not (or .keysConfigMap (include "policyd.connects" $)) -}}
{{- fail "apiServerToken.required needs the keys of the API server: with static.enabled, set apiServerToken.keysConfigMap or static.clusterLookups" -}}
{{- end -}}
true
{{- end -}}
{{- end -}}
{{- end -}}

{{- /* "true" if policyd makes its own certificate. */ -}}
{{- define "policyd.certifies" -}}
{{- if not (or .Values.static.enabled .Values.certManager.enabled) -}}true{{- end -}}
{{- end -}}

{{- /* "true" if the chart has policies of its own. */ -}}
{{- define "policyd.packs" -}}
{{- if or .Values.policies.podSecurity .Values.policies.inline -}}true{{- end -}}
{{- end -}}

{{- /* The ConfigMaps that are mounted, as a JSON list. Those with the label are read by watch, and not mounted as well. */ -}}
{{- define "policyd.mounted" -}}
{{- $names := .Values.policies.configMaps -}}
{{- if and .Values.static.enabled (include "policyd.packs" .) -}}
{{- $names = prepend $names (printf "%s-policies" (include "policyd.name" .)) | uniq -}}
{{- end -}}
{{- if and .Values.static.enabled (not $names) -}}
{{- fail "static.enabled needs policies: set policies.podSecurity, policies.inline or policies.configMaps" -}}
{{- end -}}
{{- toJson $names -}}
{{- end -}}

{{- /* The name of the objects of `policyd report`: names of CronJobs have at most 52 characters. */ -}}
{{- define "policyd.report" -}}
{{- printf "%s-report" (include "policyd.name" . | trunc 45 | trimAll "-") -}}
{{- end -}}

{{- define "policyd.reportSelector" -}}
app.kubernetes.io/name: policyd-report
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end -}}

{{- define "policyd.testSelector" -}}
app.kubernetes.io/name: policyd-test
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end -}}

{{- define "policyd.image" -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) -}}
{{- end -}}
{{- end -}}

{{- /* The annotation with which cert-manager keeps caBundle. */ -}}
{{- define "policyd.injected" -}}
{{- if .Values.certManager.enabled }}
annotations:
  cert-manager.io/inject-ca-from: {{ printf "%s/%s" .Release.Namespace (include "policyd.name" .) | quote }}
{{- end }}
{{- end -}}
