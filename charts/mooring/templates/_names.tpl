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

{{/* The names that the certificate is made out to: of the webhooks, and of the metrics. */}}
{{- define "mooring.hosts" -}}
{{- range $service := list "webhook-service" "metrics-service" }}
- {{ include "mooring.prefix" $ }}-{{ $service }}.{{ $.Release.Namespace }}.svc
- {{ include "mooring.prefix" $ }}-{{ $service }}.{{ $.Release.Namespace }}.svc.cluster.local
{{- end }}
{{- end -}}

{{/* What cert-manager reads to put in the authority; nothing with other sources. */}}
{{- define "mooring.injection" -}}
{{- if eq .Values.webhook.certificates.source "cert-manager" -}}
cert-manager.io/inject-ca-from: {{ .Release.Namespace }}/{{ include "mooring.prefix" . }}-serving-cert
{{- end -}}
{{- end -}}

{{/*
The certificate of the webhooks and its authority, base64, as the fields of a Secret. Made once per release: the first template
that needs it makes it and the others read what was kept, so that webhook configurations and Secret agree. It is good for a year; an
upgrade in the second half of that makes a new one.
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
{{- $days := 365 -}}
{{- $now := now | unixEpoch | int64 -}}
{{- $metadata := ($known | default dict).metadata | default dict -}}
{{- $renewAfter := index ($metadata.annotations | default dict) "mooring.dev/renew-after" | default "0" | int64 -}}
{{- if and $known (hasKey ($known.data | default dict) "ca.crt") (lt $now $renewAfter) -}}
{{- $kept = pick $known.data "ca.crt" "tls.crt" "tls.key" -}}
{{- else -}}
{{- $renewAfter = add $now (mul 43200 $days) -}}
{{- $hosts := include "mooring.hosts" . | fromYamlArray -}}
{{- $authority := genCA (printf "%s-authority" (include "mooring.prefix" .)) $days -}}
{{- $signed := genSignedCert (first $hosts) nil $hosts $days $authority -}}
{{- $kept = dict "ca.crt" (b64enc $authority.Cert) "tls.crt" (b64enc $signed.Cert) "tls.key" (b64enc $signed.Key) -}}
{{- end -}}
{{- $_ := set .Values.webhook "kept" $kept -}}
{{- $_ := set .Values.webhook "renewAfter" (toString $renewAfter) -}}
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

{{/* How metrics are read: given the root and an interval. The certificate is checked before the token is shown. */}}
{{- define "mooring.endpoint" -}}
path: /metrics
honorLabels: true
interval: {{ index . 1 }}
{{- if (index . 0).Values.metrics.secure }}
scheme: https
tlsConfig:
  ca:
    secret:
      name: {{ include "mooring.certificateSecret" (index . 0) }}
      key: ca.crt
  serverName: {{ include "mooring.prefix" (index . 0) }}-metrics-service.{{ (index . 0).Release.Namespace }}.svc
{{- end }}
{{- end -}}
