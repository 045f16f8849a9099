// The roles and bindings that every cluster starts with. Their label and annotation tell users (and `kubectl auth
// reconcile`) that the server recreates them. Without them only system:masters could do anything, and a new user could
// not even read discovery.

import type { KubeObject } from '../object.ts'
import { clusterRoleRules, controllerRules, namespacedRules } from './bootstrap-rules.ts'
import type { PolicyRule } from './rule.ts'

const apiGroup = 'rbac.authorization.k8s.io'
const apiVersion = `${apiGroup}/v1`
const bootstrapLabels = { 'kubernetes.io/bootstrapping': 'rbac-defaults' }
const bootstrapAnnotations = { 'rbac.authorization.kubernetes.io/autoupdate': 'true' }

type Level = 'admin' | 'edit' | 'view'
const aggregateTo = (level: Level) => ({ [`rbac.authorization.k8s.io/aggregate-to-${level}`]: 'true' })

/** `edit` is part of `admin`, and `view` of `edit`. */
const partOf: Record<Level, Record<string, string>> = {
  admin: {},
  edit: aggregateTo('admin'),
  view: aggregateTo('edit'),
}

/** New objects on every call, in the order in which they should be created. */
export function bootstrapObjects(): KubeObject[] {
  return [...clusterRoles(), ...clusterRoleBindings(), ...namespacedRoles(), ...namespacedBindings()]
}

function clusterRoles(): KubeObject[] {
  const levels: readonly Level[] = ['admin', 'edit', 'view']
  return [
    ...levels.map(aggregatingRole),
    ...Object.entries(clusterRoleRules).map(([name, rules]) => clusterRole(name, rules)),
    ...Object.entries(controllerRules).map(([name, rules]) => clusterRole(`system:controller:${name}`, rules)),
  ]
}

function aggregatingRole(level: Level): KubeObject {
  return {
    apiVersion,
    kind: 'ClusterRole',
    metadata: metadata(level, partOf[level]),
    aggregationRule: { clusterRoleSelectors: [{ matchLabels: aggregateTo(level) }] },
    rules: [],
  }
}

function clusterRole(name: string, rules: readonly PolicyRule[]): KubeObject {
  const level = /^system:aggregate-to-(admin|edit|view)$/.exec(name)?.[1] as Level | undefined
  return {
    apiVersion,
    kind: 'ClusterRole',
    metadata: metadata(name, level ? aggregateTo(level) : {}),
    rules: copy(rules),
  }
}

const user = (name: string) => ({ apiGroup, kind: 'User', name })
const usersIn = (name: string) => ({ apiGroup, kind: 'Group', name })
const systemAccount = (name: string) => ({ kind: 'ServiceAccount', name, namespace: 'kube-system' })

type Subject = ReturnType<typeof user> | ReturnType<typeof systemAccount>

function clusterRoleBindings(): KubeObject[] {
  const bindings: readonly (readonly [role: string, ...subjects: Subject[]])[] = [
    ['cluster-admin', usersIn('system:masters')],
    ['system:monitoring', usersIn('system:monitoring')],
    ['system:discovery', usersIn('system:authenticated')],
    ['system:basic-user', usersIn('system:authenticated')],
    ['system:public-info-viewer', usersIn('system:authenticated'), usersIn('system:unauthenticated')],
    ['system:node-proxier', user('system:kube-proxy')],
    ['system:kube-controller-manager', user('system:kube-controller-manager')],
    ['system:kube-dns', systemAccount('kube-dns')],
    ['system:kube-scheduler', user('system:kube-scheduler')],
    ['system:volume-scheduler', user('system:kube-scheduler')],
    ['system:service-account-issuer-discovery', usersIn('system:serviceaccounts')],
    // Left empty on purpose: what a node may do depends on the pods it runs, which no role can say.
    ['system:node'],
  ]
  return [
    ...bindings.map(([role, ...subjects]) => clusterRoleBinding(role, subjects)),
    ...Object.keys(controllerRules).map(name => clusterRoleBinding(`system:controller:${name}`, [systemAccount(name)])),
  ]
}

function clusterRoleBinding(role: string, subjects: readonly Subject[]): KubeObject {
  return {
    apiVersion,
    kind: 'ClusterRoleBinding',
    metadata: metadata(role),
    roleRef: { apiGroup, kind: 'ClusterRole', name: role },
    ...(subjects.length > 0 && { subjects }),
  }
}

function namespacedRoles(): KubeObject[] {
  return Object.entries(namespacedRules).map(([place, rules]) => {
    const [namespace = '', name = ''] = place.split('/')
    return { apiVersion, kind: 'Role', metadata: { ...metadata(name), namespace }, rules: copy(rules) }
  })
}

function namespacedBindings(): KubeObject[] {
  const bindings: readonly (readonly [namespace: string, name: string, role: string, ...subjects: Subject[]])[] = [
    [
      'kube-public',
      'system:controller:bootstrap-signer',
      'system:controller:bootstrap-signer',
      systemAccount('bootstrap-signer'),
    ],
    [
      'kube-system',
      'system::extension-apiserver-authentication-reader',
      'extension-apiserver-authentication-reader',
      user('system:kube-controller-manager'),
      user('system:kube-scheduler'),
    ],
    [
      'kube-system',
      'system::leader-locking-kube-controller-manager',
      'system::leader-locking-kube-controller-manager',
      user('system:kube-controller-manager'),
      systemAccount('kube-controller-manager'),
      systemAccount('leader-election-controller'),
    ],
    [
      'kube-system',
      'system::leader-locking-kube-scheduler',
      'system::leader-locking-kube-scheduler',
      user('system:kube-scheduler'),
      systemAccount('kube-scheduler'),
    ],
    [
      'kube-system',
      'system:controller:bootstrap-signer',
      'system:controller:bootstrap-signer',
      systemAccount('bootstrap-signer'),
    ],
    [
      'kube-system',
      'system:controller:cloud-provider',
      'system:controller:cloud-provider',
      systemAccount('cloud-provider'),
    ],
    [
      'kube-system',
      'system:controller:token-cleaner',
      'system:controller:token-cleaner',
      systemAccount('token-cleaner'),
    ],
  ]
  return bindings.map(([namespace, name, role, ...subjects]) => ({
    apiVersion,
    kind: 'RoleBinding',
    metadata: { ...metadata(name), namespace },
    roleRef: { apiGroup, kind: 'Role', name: role },
    subjects,
  }))
}

function metadata(name: string, labels: Record<string, string> = {}) {
  return { name, labels: { ...bootstrapLabels, ...labels }, annotations: { ...bootstrapAnnotations } }
}

function copy(rules: readonly PolicyRule[]): PolicyRule[] {
  return structuredClone([...rules])
}
