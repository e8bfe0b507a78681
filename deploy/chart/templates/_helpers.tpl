{{/*
The objects of this chart are those of deploy/manager, which `make chart` copies into files/manager: a template here says only what a
value changes in them.
*/}}

{{/*
The objects of one file, as a JSON list, in the release's namespace and with its labels. Called with (list $ "deployment.yaml").
*/}}
{{- define "copyhold.objects" -}}
{{- $root := index . 0 -}}
{{- $name := index . 1 -}}
{{- $text := $root.Files.Get (printf "files/manager/%s" $name) -}}
{{- if not $text -}}
{{- fail (printf "files/manager/%s is not in the chart: it is made by `make chart`" $name) -}}
{{- end -}}
{{- $objects := list -}}
{{- range splitList "\n---\n" ($text | replace "copyhold-system" $root.Release.Namespace) -}}
{{- $object := fromYaml . -}}
{{- $labels := merge (include "copyhold.labels" $root | fromYaml) ($object.metadata.labels | default dict) -}}
{{- $_ := set $object.metadata "labels" $labels -}}
{{- $objects = append $objects $object -}}
{{- end -}}
{{- toJson $objects -}}
{{- end -}}

{{/*
All objects of one file as YAML documents. Called with (list $ "role-manager.yaml").
*/}}
{{- define "copyhold.documents" -}}
{{- range include "copyhold.objects" . | fromJsonArray }}
---
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "copyhold.labels" -}}
app.kubernetes.io/name: copyhold
app.kubernetes.io/part-of: copyhold
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "copyhold.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{/*
Who acts for cluster-scoped parents that name no account, as NAMESPACE/NAME; empty for nobody.
*/}}
{{- define "copyhold.defaultServiceAccount" -}}
{{- if .Values.defaultServiceAccount.existing -}}
{{ .Values.defaultServiceAccount.existing }}
{{- else if .Values.defaultServiceAccount.create -}}
{{ .Release.Namespace }}/distributor
{{- end -}}
{{- end -}}

{{/*
The arguments of the manager, as a JSON list.
*/}}
{{- define "copyhold.args" -}}
{{- $args := list "run" -}}
{{- with include "copyhold.defaultServiceAccount" . -}}
{{- $args = append $args (printf "--default-service-account=%s" .) -}}
{{- end -}}
{{- range .Values.allowServiceAccounts -}}
{{- $args = append $args (printf "--allow-service-account=%s" .) -}}
{{- end -}}
{{- $args = append $args (printf "--admission-service=%s/copyhold-admission:443" .Release.Namespace) -}}
{{- $args = append $args "--admission-listen=0.0.0.0:9443" -}}
{{- if .Values.admission.certManager.enabled -}}
{{- $args = append $args "--admission-certificate=/certificate" -}}
{{- end -}}
{{- if ne .Values.log.level "info" -}}
{{- $args = append $args (printf "--log-level=%s" .Values.log.level) -}}
{{- end -}}
{{- concat $args .Values.extraArgs | toJson -}}
{{- end -}}

{{/*
RBAC rules over kinds: called with (list kinds verbs), where a kind is {apiGroup, resources}.
*/}}
{{- define "copyhold.rules" -}}
{{- $verbs := index . 1 -}}
{{- range index . 0 }}
- apiGroups: [{{ .apiGroup | quote }}]
  resources: {{ toJson .resources }}
  verbs: {{ toJson $verbs }}
{{- end }}
{{- end -}}
