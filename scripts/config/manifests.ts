// What is applied to a cluster so that the controller runs there, made from what the code itself goes by: roles from the
// permissions it uses, registrations from the webhooks it serves, definitions from `config/crd`. Nothing of it is kept twice.

import { Document, isMap, stringify, type YAMLSeq } from 'yaml'
import {
  toMutatingConfiguration,
  toValidatingConfiguration,
  type WebhookAddress,
} from '../../src/admission/registration.ts'
import { needsConversion, ownDefinitions, withConversion } from '../../src/cli/definitions.ts'
import { type Permission, type PermissionScope, permissions } from '../../src/cli/permissions.ts'
import { capiWebhooks } from '../../src/controllers/capi/webhooks/webhooks.ts'
import { poolWebhooks } from '../../src/controllers/office/webhooks/webhooks.ts'

export interface InstallOptions {
  readonly namespace: string
  /** Every name begins with it. */
  readonly namePrefix: string
  readonly image: string
  readonly labels: Readonly<Record<string, string>>
  /** Only claims and pools of this namespace; empty for all. */
  readonly watchedNamespace: string
  /** Who puts the authority's certificate into registrations: cert-manager, or nobody but this text (PEM, base64). */
  readonly authority: { readonly kind: 'cert-manager' } | { readonly kind: 'given'; readonly caBundle: string }
}

export const plainInstall: InstallOptions = {
  namespace: 'mooring-system',
  namePrefix: 'mooring-',
  image: 'registry.example.com/mooring:v0.1.0',
  labels: { 'app.kubernetes.io/name': 'mooring', 'cluster.x-k8s.io/provider': 'ipam-mooring' },
  watchedNamespace: '',
  authority: { kind: 'cert-manager' },
}

/** A manifest as it is applied. */
export type Manifest = Readonly<Record<string, unknown>>

/** Everything, in an order in which it can be applied. */
export function toInstallation(options: InstallOptions): Manifest[] {
  return [
    toNamespace(options),
    ...toDefinitions(options),
    ...toRBAC(options),
    ...toCertificates(options),
    ...toWebhooks(options),
    ...toManager(options),
  ]
}

/** Where the pod finds the certificate that webhooks are served with. */
const certificates = '/etc/mooring/serving-certs'

const podLabels = { 'control-plane': 'mooring-controller' }

export function toNamespace(options: InstallOptions): Manifest {
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name: options.namespace, labels: options.labels } }
}

/** With the converter named, so that older versions are served too. */
export function toDefinitions(options: InstallOptions): Manifest[] {
  return ownDefinitions().map(definition => {
    if (!needsConversion(definition)) return { ...definition }
    const { metadata } = definition
    const annotations = { ...metadata.annotations, ...injection(options) }
    return { ...withConversion(definition, addressOf(options)), metadata: { ...metadata, annotations } }
  })
}

export function toRBAC(options: InstallOptions): Manifest[] {
  const { namespace, watchedNamespace } = options
  const everywhere: PermissionScope[] = watchedNamespace === '' ? ['cluster', 'watched'] : ['cluster']
  return [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: placed(options, 'controller') },
    role(options, 'ClusterRole', 'controller', undefined, everywhere),
    binding(options, 'ClusterRole', 'controller', undefined),
    role(options, 'Role', 'controller-lease', namespace, ['own']),
    binding(options, 'Role', 'controller-lease', namespace),
    ...(watchedNamespace === ''
      ? []
      : [
          role(options, 'Role', 'controller', watchedNamespace, ['watched']),
          binding(options, 'Role', 'controller', watchedNamespace),
        ]),
    {
      apiVersion: rbacVersion,
      kind: 'ClusterRole',
      metadata: named(options, 'metrics-reader'),
      rules: [{ nonResourceURLs: ['/metrics'], verbs: ['get'] }],
    },
  ]
}

export function toWebhooks(options: InstallOptions): Manifest[] {
  const { namePrefix, labels } = options
  const registration = { address: addressOf(options), namePrefix, labels, annotations: injection(options) }
  const webhooks = [...poolWebhooks, ...capiWebhooks]
  return [
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: placed(options, 'webhook-service'),
      spec: { selector: podLabels, ports: [{ name: 'webhooks', port: 443, targetPort: 'webhooks' }] },
    },
    toMutatingConfiguration(webhooks, registration),
    toValidatingConfiguration(webhooks, registration),
  ]
}

/** The certificate that webhooks are served with, signed by itself and renewed by cert-manager. */
export function toCertificates(options: InstallOptions): Manifest[] {
  if (options.authority.kind !== 'cert-manager') return []
  const apiVersion = 'cert-manager.io/v1'
  const service = nameOf(options, 'webhook-service')
  return [
    { apiVersion, kind: 'Issuer', metadata: placed(options, 'selfsigned-issuer'), spec: { selfSigned: {} } },
    {
      apiVersion,
      kind: 'Certificate',
      metadata: placed(options, 'serving-cert'),
      spec: {
        dnsNames: [`${service}.${options.namespace}.svc`, `${service}.${options.namespace}.svc.cluster.local`],
        issuerRef: { kind: 'Issuer', name: nameOf(options, 'selfsigned-issuer') },
        secretName: secretOf(options),
        subject: { organizations: ['mooring'] },
      },
    },
  ]
}

export function toManager(options: InstallOptions): Manifest[] {
  const { labels, image, watchedNamespace } = options
  return [
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: placed(options, 'metrics-service'),
      spec: { selector: podLabels, ports: [{ name: 'diagnostics', port: 8443, targetPort: 'diagnostics' }] },
    },
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: placed(options, 'controller'),
      spec: {
        // The second one serves webhooks while the first one is replaced, and takes over when it is gone.
        replicas: 2,
        selector: { matchLabels: podLabels },
        template: {
          metadata: { labels: { ...labels, ...podLabels } },
          spec: {
            serviceAccountName: nameOf(options, 'controller'),
            // Passes end, then the lease is given back.
            terminationGracePeriodSeconds: 30,
            topologySpreadConstraints: [
              {
                maxSkew: 1,
                topologyKey: 'kubernetes.io/hostname',
                whenUnsatisfiable: 'ScheduleAnyway',
                labelSelector: { matchLabels: podLabels },
              },
            ],
            tolerations: [{ key: 'node-role.kubernetes.io/control-plane', operator: 'Exists', effect: 'NoSchedule' }],
            securityContext: {
              runAsNonRoot: true,
              runAsUser: 65_532,
              runAsGroup: 65_532,
              seccompProfile: { type: 'RuntimeDefault' },
            },
            containers: [
              {
                // clusterctl and the Cluster API operator look for this name.
                name: 'manager',
                image,
                args: [
                  'controller',
                  '--leader-elect=true',
                  `--webhook-cert-dir=${certificates}`,
                  ...(watchedNamespace === '' ? [] : [`--namespace=${watchedNamespace}`]),
                ],
                ports: [
                  { name: 'webhooks', containerPort: 9443, protocol: 'TCP' },
                  { name: 'diagnostics', containerPort: 8443, protocol: 'TCP' },
                  { name: 'health', containerPort: 8081, protocol: 'TCP' },
                ],
                livenessProbe: { httpGet: { path: '/healthz', port: 'health' }, periodSeconds: 20 },
                readinessProbe: { httpGet: { path: '/readyz', port: 'health' }, periodSeconds: 5 },
                resources: { requests: { cpu: '50m', memory: '128Mi' }, limits: { memory: '1Gi' } },
                securityContext: {
                  allowPrivilegeEscalation: false,
                  readOnlyRootFilesystem: true,
                  capabilities: { drop: ['ALL'] },
                },
                volumeMounts: [{ name: 'webhook-certificate', mountPath: certificates, readOnly: true }],
              },
            ],
            volumes: [
              // The process starts without it and says that it waits for it.
              { name: 'webhook-certificate', secret: { secretName: secretOf(options), optional: true } },
            ],
          },
        },
      },
    },
  ]
}

const rbacVersion = 'rbac.authorization.k8s.io/v1'

function role(
  options: InstallOptions,
  kind: 'Role' | 'ClusterRole',
  name: string,
  namespace: string | undefined,
  scopes: readonly PermissionScope[],
): Manifest {
  const metadata = { ...named(options, name), ...(namespace !== undefined && { namespace }) }
  return { apiVersion: rbacVersion, kind, metadata, rules: permissionsOf(scopes).map(toRule) }
}

function permissionsOf(scopes: readonly PermissionScope[]): Permission[] {
  return permissions.filter(({ scope }) => scopes.includes(scope))
}

function toRule({ group, resources, verbs, names }: Permission) {
  return { apiGroups: [group], resources, ...(names && { resourceNames: names }), verbs }
}

function binding(
  options: InstallOptions,
  kind: 'Role' | 'ClusterRole',
  name: string,
  namespace: string | undefined,
): Manifest {
  return {
    apiVersion: rbacVersion,
    kind: `${kind}Binding`,
    metadata: { ...named(options, name), ...(namespace !== undefined && { namespace }) },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind, name: nameOf(options, name) },
    subjects: [{ kind: 'ServiceAccount', name: nameOf(options, 'controller'), namespace: options.namespace }],
  }
}

function nameOf({ namePrefix }: InstallOptions, name: string): string {
  return `${namePrefix}${name}`
}

function named(options: InstallOptions, name: string) {
  return { name: nameOf(options, name), labels: options.labels }
}

function placed(options: InstallOptions, name: string) {
  return { ...named(options, name), namespace: options.namespace }
}

function secretOf(options: InstallOptions): string {
  return nameOf(options, 'webhook-service-cert')
}

function addressOf(options: InstallOptions): WebhookAddress {
  const { namespace, authority } = options
  const caBundle = authority.kind === 'given' ? { caBundle: authority.caBundle } : {}
  return { kind: 'service', namespace, name: nameOf(options, 'webhook-service'), ...caBundle }
}

function injection(options: InstallOptions): Record<string, string> {
  if (options.authority.kind !== 'cert-manager') return {}
  return { 'cert-manager.io/inject-ca-from': `${options.namespace}/${nameOf(options, 'serving-cert')}` }
}

export interface ManifestFile {
  /** Below `config/`. */
  readonly path: string
  readonly text: string
}

/** The files that are kept beside the code, for whoever applies or kustomizes them. */
export function toFiles(options: InstallOptions): ManifestFile[] {
  const oneNamespace = { ...options, watchedNamespace: 'default' }
  return [
    file('manager/manager.yaml', 'The controller: two replicas, of which one leads.', [
      toNamespace(options),
      ...toManager(options),
    ]),
    file(
      'rbac/role.yaml',
      'What the controller may do, in every namespace, and about its lease in its own.',
      toRBAC(options),
    ),
    file(
      'rbac/one-namespace.yaml',
      'Instead of role.yaml, for a controller with --namespace: put that namespace in place of "default".',
      toRBAC(oneNamespace),
    ),
    file(
      'webhook/webhooks.yaml',
      'Where the API server asks about pools, and about a change of the address that a bound claim has.',
      toWebhooks(options),
    ),
    file(
      'webhook/certificate.yaml',
      'The certificate that webhooks are served with. It needs cert-manager.',
      toCertificates(options),
    ),
  ]
}

function file(path: string, about: string, objects: readonly Manifest[]): ManifestFile {
  const head = `# ${about}\n# Written by \`npm run config\`: change what it is made from.\n`
  return { path, text: head + toYAML(objects) }
}

/** One document each. Every rule of a role has a line that says what it is for. */
export function toYAML(objects: readonly Manifest[]): string {
  return objects.map(object => `---\n${isRole(object) ? explained(object) : stringify(object, yamlStyle)}`).join('')
}

// kubectl and helm read YAML 1.1, in which a bare `off` is a boolean: what could be mistaken is quoted.
const yamlStyle = { version: '1.1', lineWidth: 0, aliasDuplicateObjects: false } as const

function isRole({ kind, rules }: Manifest): boolean {
  return (kind === 'Role' || kind === 'ClusterRole') && Array.isArray(rules)
}

function explained(object: Manifest): string {
  const document = new Document(object, yamlStyle)
  const reasons = new Map(permissions.map(permission => [JSON.stringify(toRule(permission)), permission.without]))
  const rules = object.rules as object[]
  const items = (document.get('rules') as YAMLSeq).items
  items.forEach((item, at) => {
    const without = reasons.get(JSON.stringify(rules[at]))
    if (without !== undefined && isMap(item)) item.commentBefore = ` Without it, ${without}.`
  })
  return document.toString(yamlStyle)
}
