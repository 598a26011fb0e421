{{- define "pyroscope.release" -}}
app.kubernetes.io/name: pyroscope
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "pyroscope.labels" -}}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{ include "pyroscope.release" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- range $name, $value := .Values.pyroscope.extraLabels }}
{{ $name }}: {{ $value | quote }}
{{- end }}
{{- end }}

{{/* What is deployed: the components that are named, or one server. */}}
{{- define "pyroscope.components" -}}
{{- if .Values.pyroscope.components }}
{{- toYaml .Values.pyroscope.components }}
{{- else }}
all: {kind: StatefulSet}
{{- end }}
{{- end }}

{{- define "pyroscope.config" -}}
{{- $text := tpl .Values.pyroscope.config . | fromYaml -}}
{{- mergeOverwrite $text .Values.pyroscope.structuredConfig | toYaml -}}
{{- end }}

{{- define "pyroscope.serviceAccountName" -}}
{{ .Values.pyroscope.serviceAccount.name | default .Release.Name }}
{{- end }}
