{{- define "pyroscope.selector" -}}
app.kubernetes.io/name: pyroscope
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: all
{{- end }}

{{- define "pyroscope.labels" -}}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{ include "pyroscope.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- range $name, $value := .Values.pyroscope.extraLabels }}
{{ $name }}: {{ $value | quote }}
{{- end }}
{{- end }}

{{- define "pyroscope.config" -}}
{{- $text := tpl .Values.pyroscope.config . | fromYaml -}}
{{- mergeOverwrite $text .Values.pyroscope.structuredConfig | toYaml -}}
{{- end }}

{{- define "pyroscope.serviceAccountName" -}}
{{ .Values.pyroscope.serviceAccount.name | default .Release.Name }}
{{- end }}
