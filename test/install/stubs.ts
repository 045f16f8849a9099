// Kinds of others that our objects are of: enough of a definition for an API server to take them.

const stub = (group: string, kind: string, plural: string) => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${plural}.${group}` },
  spec: {
    group,
    scope: 'Namespaced',
    names: { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List` },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
})

export const stubs = [
  stub('cert-manager.io', 'Issuer', 'issuers'),
  stub('cert-manager.io', 'Certificate', 'certificates'),
  stub('monitoring.coreos.com', 'ServiceMonitor', 'servicemonitors'),
  stub('monitoring.coreos.com', 'PodMonitor', 'podmonitors'),
  stub('monitoring.coreos.com', 'PrometheusRule', 'prometheusrules'),
]
