// The whole of admission: the server's own rules, then webhooks. An object that a webhook changed is read again like a
// client's body.

import { settleStrictness } from '../body.ts'
import type { Admission, AdmissionRequest, World } from '../call.ts'
import type { Resource } from '../kinds/registry.ts'
import { type GroupVersionKind, isObject, type KubeObject, parseAPIVersion } from '../object.ts'
import { getObject, listObjects } from '../objects.ts'
import type { AdmissionAttributes, GroupVersionResource } from './attributes.ts'
import { applyRules } from './rules.ts'
import { createWebhookAdmission } from './webhooks.ts'
import type { PostToWebhook } from './wire.ts'

type ChainWorld = Pick<World, 'store' | 'registry' | 'rbac' | 'random' | 'randomUUID'>

export function createAdmission(world: ChainWorld, post: PostToWebhook): Admission {
  const { store, registry } = world
  const configurations = followConfigurations(world)
  const webhooks = createWebhookAdmission({
    configurations,
    namespaceLabels: name => {
      const namespaces = registry.find('', 'namespaces')
      const namespace = namespaces && getObject(store, namespaces, '', name)
      return namespace && (namespace.metadata.labels ?? {})
    },
    authorize: (user, attributes) => world.rbac.authorize(user, attributes),
    equivalents: (resource, subresource) => versionsOf(world, resource, subresource),
    convert: async (object, to) => {
      const found = registry.findKind(to.group, to.version, to.kind)
      const [converted] = found ? await found.resource.convert([object], found.served.kind) : []
      return converted ?? object
    },
    normalize: (object, kind) => normalize(world, object, kind),
    post,
    randomUUID: world.randomUUID,
  })
  return {
    async mutate(request) {
      applyRules(world, request)
      if (configurations('mutating').length === 0) return undefined
      return webhooks.mutate(toAttributes(request))
    },
    async validate(request) {
      if (configurations('validating').length > 0) await webhooks.validate(toAttributes(request))
    },
  }
}

function toAttributes(request: AdmissionRequest): AdmissionAttributes {
  const { operation, call, name, object, oldObject, dryRun, options } = request
  const { group, version } = call.served.kind
  const { plural, subresource, namespace } = call.request
  const isNamespace = group === '' && plural === 'namespaces'
  return {
    operation,
    kind: object ? kindOf(object) : kindOf(oldObject, call.served.kind),
    resource: { group, version, resource: plural },
    subresource,
    name,
    namespace: isNamespace && operation !== 'CREATE' ? name : namespace,
    object,
    oldObject,
    dryRun,
    user: call.user,
    options,
    warn: call.warn,
    signal: call.signal,
  }
}

/** Webhooks of a subresource are sent the kind of its body, such as Scale. */
function kindOf(object: KubeObject | undefined, otherwise?: GroupVersionKind): GroupVersionKind {
  if (object === undefined) return otherwise ?? { group: '', version: '', kind: '' }
  return { ...parseAPIVersion(object.apiVersion), kind: object.kind }
}

function versionsOf({ registry }: ChainWorld, { group, resource }: GroupVersionResource, subresource: string) {
  const found = registry.find(group, resource)
  return [...(found?.versions.values() ?? [])].map(({ kind }) => {
    const own = kind.subresources.find(({ name }) => name === subresource)
    const { group = kind.group, version = kind.version } = own ?? {}
    return {
      resource: { group: kind.group, version: kind.version, resource: kind.plural },
      kind: { group, version, kind: own?.kind ?? kind.kind },
    }
  })
}

function normalize({ registry }: ChainWorld, object: KubeObject, kind: GroupVersionKind): KubeObject {
  const found = registry.findKind(kind.group, kind.version, kind.kind)
  if (found !== undefined) settleStrictness(found.served, object, [], 'Ignore', () => {})
  return object
}

/** The same list of the same objects until a configuration changes, so that webhooks are compiled once. */
function followConfigurations({ store, registry }: ChainWorld) {
  const current = { mutating: [] as readonly KubeObject[], validating: [] as readonly KubeObject[] }
  for (const type of ['mutating', 'validating'] as const) {
    const resource = registry.find('admissionregistration.k8s.io', `${type}webhookconfigurations`)
    if (resource === undefined) continue
    const read = () => {
      current[type] = [...listObjects(store, resource)]
    }
    read()
    store.watch(resource.keyPrefix, store.revision, read)
  }
  return (type: 'mutating' | 'validating') => current[type]
}

/**
 * Where a Service can be reached from here. There is no service network on this machine: an ExternalName is used
 * as it is written, any other Service is reached through its endpoints.
 */
export function resolveService(
  world: Pick<World, 'store' | 'registry'>,
  namespace: string,
  name: string,
  port: number,
) {
  const read = (plural: string): KubeObject | undefined => {
    const resource: Resource | undefined = world.registry.find('', plural)
    return resource && getObject(world.store, resource, namespace, name)
  }
  const service = read('services')
  if (service === undefined) throw new Error(`service ${JSON.stringify(name)} not found`)
  const spec = isObject(service.spec) ? service.spec : {}
  if (spec.type === 'ExternalName') return { host: String(spec.externalName), port }
  const endpoints = read('endpoints') as EndpointsObject | undefined
  const subset = endpoints?.subsets?.find(({ addresses = [] }) => addresses.length > 0)
  const host = subset?.addresses?.[0]?.ip
  if (host === undefined) throw new Error(`no endpoints available for service ${JSON.stringify(name)}`)
  return { host, port: subset?.ports?.[0]?.port ?? port }
}

interface EndpointsObject extends KubeObject {
  subsets?: { addresses?: { ip: string }[]; ports?: { port: number }[] }[]
}
