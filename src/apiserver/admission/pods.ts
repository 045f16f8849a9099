// What every cluster adds to a new pod: the service account it runs as, with a token mounted where programs look for
// it, and the priority of its class. A pod that names an account or a class that does not exist is refused.

import { type Fields, items, text } from '../builtin/fields.ts'
import type { AdmissionRequest, World } from '../call.ts'
import { generateName } from '../metadata.ts'
import { clone, isObject, type KubeObject } from '../object.ts'
import { getObject, listObjects } from '../objects.ts'
import { forbidden, type StatusError } from '../status.ts'

type PodWorld = Pick<World, 'store' | 'registry' | 'random'>

const mirrorAnnotation = 'kubernetes.io/config.mirror'
const tokenVolume = 'kube-api-access-'
const tokenMountPath = '/var/run/secrets/kubernetes.io/serviceaccount'
/** An hour, and some seconds to tell these tokens from those that a client asked for. */
const tokenSeconds = 3607
const readableByAll = 0o644

export function admitPod(
  world: PodWorld,
  { operation, call, name, object }: AdmissionRequest,
): StatusError | undefined {
  const { resource, request } = call
  if (operation !== 'CREATE' || resource.group !== '' || resource.plural !== 'pods' || request.subresource !== '')
    return
  const spec = object?.spec
  if (object === undefined || !isObject(spec)) return
  const refuse = (why: string) => forbidden(resource, name || (object.metadata.name ?? ''), why)
  const why = settleAccount(world, object, spec, request.namespace) ?? settlePriority(world, spec)
  return why === undefined ? undefined : refuse(why)
}

function settleAccount(world: PodWorld, pod: KubeObject, spec: Fields, namespace: string): string | undefined {
  // A mirror is a kubelet's own pod; changing it would make the two differ for ever.
  if (pod.metadata.annotations?.[mirrorAnnotation] !== undefined) return undefined
  const name = text(spec.serviceAccountName) || text(spec.serviceAccount) || 'default'
  spec.serviceAccountName = name
  spec.serviceAccount = name
  const accounts = world.registry.find('', 'serviceaccounts')
  const account = accounts && getObject(world.store, accounts, namespace, name)
  // A namespace gets its default account a little later; a pod that is created before is not refused.
  if (account === undefined && name !== 'default') {
    return `error looking up service account ${namespace}/${name}: serviceaccount "${name}" not found`
  }
  if ((spec.automountServiceAccountToken ?? account?.automountServiceAccountToken ?? true) === true) {
    mountToken(spec, world.random)
  }
  const secrets = items(account?.imagePullSecrets)
  if (items(spec.imagePullSecrets).length === 0 && secrets.length > 0) {
    spec.imagePullSecrets = secrets.map(secret => ({ name: secret.name }))
  }
  return undefined
}

function mountToken(spec: Fields, random: () => number): void {
  const volumes = items(spec.volumes)
  const known = volumes.find(volume => text(volume.name).startsWith(tokenVolume))
  const name = known === undefined ? generateName(tokenVolume, random) : text(known.name)
  let isMounted = false
  for (const container of [...items(spec.initContainers), ...items(spec.containers)]) {
    const mounts = items(container.volumeMounts)
    if (mounts.some(mount => mount.mountPath === tokenMountPath)) continue
    container.volumeMounts = [...mounts, { name, readOnly: true, mountPath: tokenMountPath }]
    isMounted = true
  }
  if (known !== undefined || !isMounted) return
  spec.volumes = [...volumes, { name, projected: { sources: clone(tokenSources), defaultMode: readableByAll } }]
}

const tokenSources = [
  { serviceAccountToken: { expirationSeconds: tokenSeconds, path: 'token' } },
  { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
  { downwardAPI: { items: [{ path: 'namespace', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.namespace' } }] } },
]

function settlePriority({ store, registry }: PodWorld, spec: Fields): string | undefined {
  const classes = registry.find('scheduling.k8s.io', 'priorityclasses')
  if (classes === undefined) return undefined
  const name = text(spec.priorityClassName)
  const found = name === '' ? defaultClass([...listObjects(store, classes)]) : getObject(store, classes, '', name)
  if (found === undefined && name !== '') return `no PriorityClass with name ${name} was found`
  const priority = Number(found?.value ?? 0)
  const policy = text(found?.preemptionPolicy) || 'PreemptLowerPriority'
  if (typeof spec.priority === 'number' && spec.priority !== priority) {
    return `the integer value of priority (${spec.priority}) must not be provided in pod spec; priority admission controller computed ${priority} from the given PriorityClass name`
  }
  const asked = text(spec.preemptionPolicy)
  if (asked !== '' && asked !== policy) {
    return `the string value of PreemptionPolicy (${asked}) must not be provided in pod spec; priority admission controller computed ${policy} from the given PriorityClass name`
  }
  if (found !== undefined) spec.priorityClassName = found.metadata.name
  spec.priority = priority
  spec.preemptionPolicy = policy
  return undefined
}

/** Of several classes marked as the default, the one with the lowest value counts. */
function defaultClass(classes: readonly KubeObject[]): KubeObject | undefined {
  const [lowest] = classes
    .filter(one => one.globalDefault === true)
    .sort((one, other) => Number(one.value) - Number(other.value))
  return lowest
}
