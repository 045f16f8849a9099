// What is applied to a cluster so that the controller runs there, made from the table of desks that the code itself uses: roles
// from the permissions, webhook configurations from the webhooks, definitions from `config/crd`. Nothing of it is kept twice.

import { Document, isMap, stringify, type YAMLSeq } from 'yaml'
import {
  toMutatingConfiguration,
  toValidatingConfiguration,
  type WebhookAddress,
} from '../../src/admission/registration.ts'
import { definitionsOf, needsConversion, withConversion } from '../../src/cli/definitions.ts'
import { fullPermissionSets, permissionSets } from '../../src/cli/permissions.ts'
import { toClusterRoles } from '../../src/cli/user-roles.ts'
import { componentsOf } from '../../src/controllers/assemble.ts'
import type { PermissionScope } from '../../src/controllers/component.ts'
import type { Desk } from '../../src/controllers/desk.ts'
import { desks } from '../../src/controllers/desks.ts'
import { officeComponent } from '../../src/controllers/office/component.ts'
import { nodePermissions } from '../../src/node/permissions.ts'
import { toPolicies } from './policies.ts'
import { RuleReasons, rulesOf } from './rules.ts'

export interface InstallOptions {
  readonly namespace: string
  /** Every name begins with it. */
  readonly namePrefix: string
  readonly image: string
  readonly labels: Readonly<Record<string, string>>
  /** Only claims and pools of this namespace; empty for all. */
  readonly watchedNamespace: string
  /** What brings the authority's certificate into webhook configurations: cert-manager, or this text (PEM, base64). */
  readonly authority: { readonly kind: 'cert-manager' } | { readonly kind: 'given'; readonly caBundle: string }
  /** Every desk there is: what a desk that is off needs to see is permitted too. */
  readonly desks: readonly Desk[]
  /** Names of the desks that are on. */
  readonly on: readonly string[]
}

export const plainInstall: InstallOptions = {
  namespace: 'mooring-system',
  namePrefix: 'mooring-',
  image: 'registry.example.com/mooring:v0.1.0',
  labels: { 'app.kubernetes.io/name': 'mooring', 'cluster.x-k8s.io/provider': 'ipam-mooring' },
  watchedNamespace: '',
  authority: { kind: 'cert-manager' },
  desks,
  on: desks.map(({ name }) => name),
}

/** A manifest as it is applied. */
export type Manifest = Readonly<Record<string, unknown>>

/** Everything, in an order in which it can be applied. */
export function toInstallation(options: InstallOptions): Manifest[] {
  return [
    toNamespace(options),
    ...toDefinitions(options),
    ...toRBAC(options),
    ...toUserRoles(options),
    ...toCertificates(options),
    ...toWebhooks(options),
    ...toAdmissionPolicies(options),
    ...toManager(options),
  ]
}

/** Where the pod finds the certificate that webhooks are served with. */
const certificates = '/etc/mooring/serving-certs'

/** Where every client looks for the account of its pod. */
const account = '/var/run/secrets/kubernetes.io/serviceaccount'

/** As Kubernetes would mount it, with a token that is good for an hour and renewed by the kubelet long before. */
const tokenVolume = {
  name: 'token',
  projected: {
    sources: [
      { serviceAccountToken: { path: 'token', expirationSeconds: 3600 } },
      { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
      { downwardAPI: { items: [{ path: 'namespace', fieldRef: { fieldPath: 'metadata.namespace' } }] } },
    ],
  },
}

const podLabels = { 'control-plane': 'mooring-controller' }

export function toNamespace({ namespace, labels }: InstallOptions): Manifest {
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace, labels: { ...labels, ...podSecurity } } }
}

/** Nothing runs in the namespace that asks for more than the controller does. */
const podSecurity = Object.fromEntries(
  ['enforce', 'audit', 'warn'].map(mode => [`pod-security.kubernetes.io/${mode}`, 'restricted']),
)

/** Mooring's own kinds, which the office brings; kinds of other products come with those. */
export function toDefinitions(options: InstallOptions): Manifest[] {
  const { conversions } = officeComponent
  return definitionsOf([officeComponent]).map(definition => {
    if (!needsConversion(definition, conversions)) return { ...definition }
    const { metadata } = definition
    const annotations = { ...metadata.annotations, ...injection(options) }
    const converted = withConversion(definition, conversions, addressOf(options))
    return { ...converted, metadata: { ...metadata, annotations } }
  })
}

export function toRBAC(options: InstallOptions): Manifest[] {
  const { namespace, watchedNamespace } = options
  const everywhere: PermissionScope[] = watchedNamespace === '' ? ['cluster', 'watched'] : ['cluster']
  return [
    {
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: placed(options, 'controller'),
      // A pod that is given this account by mistake does not get its token with it.
      automountServiceAccountToken: false,
    },
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
      rules: metricsReaderRules,
    },
  ]
}

/** Besides, for a controller that makes virtual machines: in the namespace of Machines, and where it is without one. */
export function toMachinesRBAC(options: InstallOptions, namespace: string): Manifest[] {
  const name = 'machines'
  const rules = (scopes: readonly PermissionScope[]) => rulesOf(fullPermissionSets(options.desks, options.on), scopes)
  return [
    {
      apiVersion: rbacVersion,
      kind: 'ClusterRole',
      metadata: named(options, name),
      rules: rules(['cluster', 'watched']),
    },
    binding(options, 'ClusterRole', name, undefined),
    {
      apiVersion: rbacVersion,
      kind: 'Role',
      metadata: { ...named(options, name), namespace },
      rules: rules(['machines']),
    },
    binding(options, 'Role', name, namespace),
  ]
}

/** A namespace of its own: what is mounted from nodes asks for more than the controller's allows. */
const nodeNamespace = 'mooring-node'

/** The agent on every node, which answers the CNI plugin, and all that it needs. It is applied by those that want it. */
export function toNodeAgent(plain: InstallOptions): Manifest[] {
  const options = { ...plain, namespace: nodeNamespace }
  const { labels, image } = options
  const metadata = placed(options, 'node')
  const privileged = Object.fromEntries(Object.keys(podSecurity).map(mode => [mode, 'privileged']))
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: metadata.name }
  const subjects = [{ kind: 'ServiceAccount', name: metadata.name, namespace: nodeNamespace }]
  const own = { ...roleRef, kind: 'Role' }
  return [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: nodeNamespace, labels: { ...labels, ...privileged } } },
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata, automountServiceAccountToken: false },
    { apiVersion: rbacVersion, kind: 'ClusterRole', metadata: named(options, 'node'), rules: nodeRules },
    { apiVersion: rbacVersion, kind: 'ClusterRoleBinding', metadata: named(options, 'node'), roleRef, subjects },
    { apiVersion: rbacVersion, kind: 'Role', metadata, rules: daemonSetRules(metadata.name) },
    { apiVersion: rbacVersion, kind: 'RoleBinding', metadata, roleRef: own, subjects },
    {
      apiVersion: 'apps/v1',
      kind: 'DaemonSet',
      metadata,
      spec: {
        selector: { matchLabels: nodeLabels },
        updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: '10%' } },
        template: {
          metadata: { labels: { ...labels, ...nodeLabels } },
          spec: nodePodSpec(image, metadata.name),
        },
      },
    },
  ]
}

const nodeSets = [
  { name: 'node', permissions: nodePermissions },
  ...permissionSets([], []).filter(({ name }) => name === 'diagnostics'),
]
export const nodeRules = rulesOf(nodeSets, ['cluster', 'watched'])
export const daemonSetRules = (name: string) => [
  { apiGroups: ['apps'], resources: ['daemonsets'], resourceNames: [name], verbs: ['get'] },
]

const nodeLabels = { 'app.kubernetes.io/component': 'mooring-node' }

/** Directories of the node, and where the agent has them. */
const hostPaths = {
  'cni-bin': { path: '/opt/cni/bin', mountPath: '/host/opt/cni/bin' },
  run: { path: '/run/mooring', mountPath: '/run/mooring' },
  state: { path: '/var/lib/mooring', mountPath: '/var/lib/mooring' },
  netns: { path: '/run/netns', mountPath: '/run/netns', readOnly: true, mountPropagation: 'HostToContainer' },
}

export const nodeArgs = (daemonSet: string): readonly string[] => [
  'node',
  '--cni-bin=/host/opt/cni/bin',
  `--daemonset=${daemonSet}`,
  '--metrics=:8443',
  '--health=:8081',
]

/**
 * There is one on every node: it is to be small before it is quick. Young objects have two megabytes instead of 48, garbage is
 * collected long before the kernel would end the process at its limit, and one arena of malloc serves the few threads.
 */
export const nodeEnvironment: Readonly<Record<string, string>> = {
  NODE_OPTIONS: '--max-semi-space-size=1 --max-old-space-size=192 --v8-pool-size=1',
  MALLOC_ARENA_MAX: '1',
}

function nodePodSpec(image: string, name: string): Manifest {
  return {
    serviceAccountName: name,
    automountServiceAccountToken: false,
    priorityClassName: 'system-node-critical',
    // Pods start on a node whatever it is tainted with, and need their addresses there.
    tolerations: [{ operator: 'Exists' }],
    nodeSelector: { 'kubernetes.io/os': 'linux' },
    terminationGracePeriodSeconds: 10,
    // Root, without any of its powers: the directories of the node are root's, and the socket is for root alone.
    securityContext: { runAsUser: 0, runAsGroup: 0, seccompProfile: { type: 'RuntimeDefault' } },
    containers: [
      {
        name: 'node',
        image,
        args: nodeArgs(name),
        env: [
          { name: 'NODE_NAME', valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } },
          ...Object.entries(nodeEnvironment).map(([name, value]) => ({ name, value })),
        ],
        ports: [
          { name: 'metrics', containerPort: 8443, protocol: 'TCP' },
          { name: 'health', containerPort: 8081, protocol: 'TCP' },
        ],
        livenessProbe: { httpGet: { path: '/healthz', port: 'health' }, periodSeconds: 20 },
        readinessProbe: { httpGet: { path: '/readyz', port: 'health' }, periodSeconds: 5 },
        resources: { requests: { cpu: '10m', memory: '80Mi' }, limits: { memory: '256Mi' } },
        securityContext: {
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        },
        volumeMounts: [
          ...Object.entries(hostPaths).map(([volume, { path: _, ...mount }]) => ({ name: volume, ...mount })),
          { name: 'token', mountPath: account, readOnly: true },
        ],
      },
    ],
    volumes: [
      ...Object.entries(hostPaths).map(([volume, { path }]) => ({
        name: volume,
        hostPath: { path, type: 'DirectoryOrCreate' },
      })),
      tokenVolume,
    ],
  }
}

/** For users, not for the controller. */
export function toUserRoles({ namePrefix, labels, desks, on }: InstallOptions): Manifest[] {
  return toClusterRoles({ namePrefix, labels, components: componentsOf(desks, on) })
}

export function toWebhooks(options: InstallOptions): Manifest[] {
  const { namePrefix, labels } = options
  const registration = { address: addressOf(options), namePrefix, labels, annotations: injection(options) }
  const webhooks = webhooksOf(options)
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

/** What the API server judges by itself, as long as the desk that it is for is on. */
export function toAdmissionPolicies(options: InstallOptions): Manifest[] {
  return toPolicies(webhooksOf(options), options)
}

const webhooksOf = ({ desks, on }: InstallOptions) => componentsOf(desks, on).flatMap(component => component.webhooks)

/** The certificate that webhooks and metrics are served with, signed by itself and renewed by cert-manager. */
export function toCertificates(options: InstallOptions): Manifest[] {
  if (options.authority.kind !== 'cert-manager') return []
  const apiVersion = 'cert-manager.io/v1'
  const hosts = ['webhook-service', 'metrics-service'].map(name => `${nameOf(options, name)}.${options.namespace}.svc`)
  return [
    { apiVersion, kind: 'Issuer', metadata: placed(options, 'selfsigned-issuer'), spec: { selfSigned: {} } },
    {
      apiVersion,
      kind: 'Certificate',
      metadata: placed(options, 'serving-cert'),
      spec: {
        dnsNames: hosts.flatMap(host => [host, `${host}.cluster.local`]),
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
            // The token is mounted below: short-lived, and for this container alone.
            automountServiceAccountToken: false,
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
                  ...(isEveryDeskOn(options) ? [] : [`--desks=${options.on.join(',')}`]),
                ],
                ports: [
                  { name: 'webhooks', containerPort: 9443, protocol: 'TCP' },
                  { name: 'diagnostics', containerPort: 8443, protocol: 'TCP' },
                  { name: 'health', containerPort: 8081, protocol: 'TCP' },
                ],
                livenessProbe: { httpGet: { path: '/healthz', port: 'health' }, periodSeconds: 20 },
                readinessProbe: { httpGet: { path: '/readyz', port: 'health' }, periodSeconds: 5 },
                // No limit of cpu: a process that is throttled answers webhooks late, and loses its lease.
                resources: { requests: { cpu: '50m', memory: '128Mi' }, limits: { memory: '1Gi' } },
                securityContext: {
                  allowPrivilegeEscalation: false,
                  readOnlyRootFilesystem: true,
                  capabilities: { drop: ['ALL'] },
                },
                volumeMounts: [
                  { name: 'webhook-certificate', mountPath: certificates, readOnly: true },
                  { name: 'token', mountPath: account, readOnly: true },
                ],
              },
            ],
            volumes: [
              // The process starts without it and says that it waits for it.
              { name: 'webhook-certificate', secret: { secretName: secretOf(options), optional: true } },
              tokenVolume,
            ],
          },
        },
      },
    },
    toNetworkPolicy(options),
  ]
}

/**
 * What may reach the controller: its three ports, and nothing else. Which addresses API servers and probes come from is
 * different in every cluster, so the ports are open to all until an administrator says it.
 */
function toNetworkPolicy(options: InstallOptions): Manifest {
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: placed(options, 'controller'),
    spec: {
      podSelector: { matchLabels: podLabels },
      policyTypes: ['Ingress'],
      ingress: [
        { ports: [{ port: 'webhooks', protocol: 'TCP' }] },
        { ports: [{ port: 'diagnostics', protocol: 'TCP' }] },
        { ports: [{ port: 'health', protocol: 'TCP' }] },
      ],
    },
  }
}

/** For the account that scrapes metrics. */
export const metricsReaderRules = [{ nonResourceURLs: ['/metrics'], verbs: ['get'] }]

const rbacVersion = 'rbac.authorization.k8s.io/v1'

function role(
  options: InstallOptions,
  kind: 'Role' | 'ClusterRole',
  name: string,
  namespace: string | undefined,
  scopes: readonly PermissionScope[],
): Manifest {
  const metadata = { ...named(options, name), ...(namespace !== undefined && { namespace }) }
  return { apiVersion: rbacVersion, kind, metadata, rules: rulesOf(permissionSets(options.desks, options.on), scopes) }
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

/** As the controller has it without a flag. */
function isEveryDeskOn({ desks, on }: InstallOptions): boolean {
  return desks.every(({ name }) => on.includes(name))
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

/** The files that are kept in git, for users that apply or kustomize them. */
export function toFiles(options: InstallOptions): ManifestFile[] {
  const oneNamespace = { ...options, watchedNamespace: 'default' }
  const files: (readonly [path: string, about: string, objects: readonly Manifest[]])[] = [
    [
      'manager/manager.yaml',
      'The controller: two replicas, of which one leads.',
      [toNamespace(options), ...toManager(options)],
    ],
    [
      'rbac/role.yaml',
      'What the controller may do in every namespace, and with its lease in its own. Each rule says which part needs it.',
      toRBAC(options),
    ],
    [
      'rbac/one-namespace.yaml',
      'Instead of role.yaml, for a controller with --namespace: put that namespace in place of "default".',
      toRBAC(oneNamespace),
    ],
    [
      'rbac/machines.yaml',
      'Besides role.yaml, for a controller with --machine-mode=full, which reads Secrets: put each namespace of your Machines in place of "openshift-machine-api".',
      toMachinesRBAC(options, 'openshift-machine-api'),
    ],
    [
      'rbac/users.yaml',
      'Roles for users. view, edit and admin of Kubernetes include the first three. What each may do: docs/reference/roles.md.',
      toUserRoles(options),
    ],
    ['webhook/webhooks.yaml', 'The webhooks of the office and of every desk.', toWebhooks(options)],
    [
      'webhook/policies.yaml',
      'Which users may say that a claim has an address. The API server judges it by itself.',
      toAdmissionPolicies(options),
    ],
    [
      'webhook/certificate.yaml',
      'The certificate that webhooks are served with. It needs cert-manager.',
      toCertificates(options),
    ],
  ]
  files.push([
    'node/node.yaml',
    'The agent on every node, which answers the CNI plugin `mooring`: docs/reference/node.md.',
    toNodeAgent(options),
  ])
  return files.map(([path, about, objects]) => {
    const head = `# ${about}\n# Written by \`npm run config\`: change what it is made from.\n`
    return { path, text: head + toYAML(objects, options) }
  })
}

/** One document each. Every rule of a role has a line for each part of the controller that needs it, and what for. */
export function toYAML(objects: readonly Manifest[], { desks, on }: WhichDesks = plainInstall): string {
  const nodeSet = { name: 'node', permissions: nodePermissions }
  const reasons = new RuleReasons([...permissionSets(desks, on), ...fullPermissionSets(desks, on), nodeSet])
  const toText = (object: Manifest) => (isRole(object) ? explained(object, reasons) : stringify(object, yamlStyle))
  return objects.map(object => `---\n${toText(object)}`).join('')
}

type WhichDesks = Pick<InstallOptions, 'desks' | 'on'>

// kubectl and helm read YAML 1.1, in which a bare `off` is a boolean: what could be mistaken is quoted.
const yamlStyle = { version: '1.1', lineWidth: 0, aliasDuplicateObjects: false } as const

function isRole({ kind, rules }: Manifest): boolean {
  return (kind === 'Role' || kind === 'ClusterRole') && Array.isArray(rules)
}

function explained(object: Manifest, reasons: RuleReasons): string {
  const document = new Document(object, yamlStyle)
  const rules = object.rules as readonly unknown[]
  const items = (document.get('rules') as YAMLSeq).items
  items.forEach((item, at) => {
    const lines = reasons.of(rules[at]).map(line => ` ${line}`)
    if (lines.length > 0 && isMap(item)) item.commentBefore = lines.join('\n')
  })
  return document.toString(yamlStyle)
}
