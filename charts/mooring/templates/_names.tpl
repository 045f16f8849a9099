{{/* Every name begins with it. The same as in the plain manifests when the release is called mooring. */}}
{{- define "mooring.prefix" -}}
{{- if contains "mooring" .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-mooring" (.Release.Name | trunc 32 | trimSuffix "-") -}}
{{- end -}}
{{- end -}}

{{- define "mooring.selector" -}}
control-plane: {{ include "mooring.prefix" . }}-controller
{{- end -}}

{{- define "mooring.labels" -}}
app.kubernetes.io/name: mooring
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
cluster.x-k8s.io/provider: ipam-mooring
{{- end -}}

{{- define "mooring.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "mooring.certificateSecret" -}}
{{- .Values.webhook.certificates.secretName | default (printf "%s-webhook-service-cert" (include "mooring.prefix" .)) -}}
{{- end -}}

{{/* What cert-manager reads to put in the authority; nothing with other sources. */}}
{{- define "mooring.injection" -}}
{{- if eq .Values.webhook.certificates.source "cert-manager" -}}
cert-manager.io/inject-ca-from: {{ .Release.Namespace }}/{{ include "mooring.prefix" . }}-serving-cert
{{- end -}}
{{- end -}}

{{/*
The certificate of the webhooks and its authority, base64, as the fields of a Secret. Made once per release: the first template
that needs it makes it and the others read what was kept, so that webhook configurations and Secret agree.
*/}}
{{- define "mooring.certificate" -}}
{{- $source := .Values.webhook.certificates.source -}}
{{- if eq $source "provided" -}}
{{- dict "ca.crt" .Values.webhook.certificates.caBundle | toYaml -}}
{{- else if eq $source "generated" -}}
{{- if not (hasKey .Values.webhook "kept") -}}
{{- $name := include "mooring.certificateSecret" . -}}
{{- $known := lookup "v1" "Secret" .Release.Namespace $name -}}
{{- $kept := dict -}}
{{- if and $known (hasKey ($known.data | default dict) "ca.crt") -}}
{{- $kept = pick $known.data "ca.crt" "tls.crt" "tls.key" -}}
{{- else -}}
{{- $host := printf "%s-webhook-service.%s.svc" (include "mooring.prefix" .) .Release.Namespace -}}
{{- $days := 3650 -}}
{{- $authority := genCA (printf "%s-authority" (include "mooring.prefix" .)) $days -}}
{{- $signed := genSignedCert $host nil (list $host (printf "%s.cluster.local" $host)) $days $authority -}}
{{- $kept = dict "ca.crt" (b64enc $authority.Cert) "tls.crt" (b64enc $signed.Cert) "tls.key" (b64enc $signed.Key) -}}
{{- end -}}
{{- $_ := set .Values.webhook "kept" $kept -}}
{{- end -}}
{{- .Values.webhook.kept | toYaml -}}
{{- end -}}
{{- end -}}

{{/* Where the API server reaches a webhook. Given a path. */}}
{{- define "mooring.clientConfig" -}}
{{- $root := index . 0 -}}
service:
  name: {{ include "mooring.prefix" $root }}-webhook-service
  namespace: {{ $root.Release.Namespace }}
  path: {{ index . 1 }}
{{- $kept := include "mooring.certificate" $root | fromYaml }}
{{- with index $kept "ca.crt" }}
caBundle: {{ . }}
{{- end }}
{{- end -}}

{{/* What `npm run release` puts beside the templates, from the files the code itself goes by. */}}
{{- define "mooring.made" -}}
{{- $root := index . 0 -}}
{{- $text := $root.Files.Get (printf "made/%s" (index . 1)) -}}
{{- if not $text -}}
{{- fail (printf "made/%s is missing: install the chart that npm run release wrote, not the folder in git" (index . 1)) -}}
{{- end -}}
{{- $text -}}
{{- end -}}

{{/* How metrics are read: given the root and an interval. The certificate is one of our own; the token decides which user may read. */}}
{{- define "mooring.endpoint" -}}
path: /metrics
honorLabels: true
interval: {{ index . 1 }}
{{- if (index . 0).Values.metrics.secure }}
scheme: https
tlsConfig:
  insecureSkipVerify: true
{{- end }}
{{- end -}}
