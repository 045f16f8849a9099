// Warnings to a client that writes a pod or a pod template, for what is allowed but rarely meant: deprecated names, and
// definitions that hide each other.

import { at, child, quote } from '../faults.ts'
import type { KubeObject } from '../object.ts'
import { type Fields, isAbsent, items, part, text, textMap } from './fields.ts'

const oldLabels = new Map([
  ['beta.kubernetes.io/arch', 'deprecated since v1.14; use "kubernetes.io/arch" instead'],
  ['beta.kubernetes.io/os', 'deprecated since v1.14; use "kubernetes.io/os" instead'],
  ['failure-domain.beta.kubernetes.io/region', 'deprecated since v1.17; use "topology.kubernetes.io/region" instead'],
  ['failure-domain.beta.kubernetes.io/zone', 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead'],
  ['beta.kubernetes.io/instance-type', 'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead'],
])

const oldAnnotations = new Map([
  ['scheduler.alpha.kubernetes.io/critical-pod', 'non-functional in v1.16+; use the "priorityClassName" field instead'],
  ['security.alpha.kubernetes.io/sysctls', 'non-functional in v1.11+; use the "sysctls" field instead'],
  ['security.alpha.kubernetes.io/unsafe-sysctls', 'non-functional in v1.11+; use the "sysctls" field instead'],
])

const oldVolumes = new Map([
  ['photonPersistentDisk', 'deprecated in v1.11, non-functional in v1.16+'],
  ['gitRepo', 'deprecated in v1.11, and disabled by default in v1.33+'],
  ['scaleIO', 'deprecated in v1.16, non-functional in v1.22+'],
  ['flocker', 'deprecated in v1.22, non-functional in v1.25+'],
  ['storageos', 'deprecated in v1.22, non-functional in v1.25+'],
  ['quobyte', 'deprecated in v1.22, non-functional in v1.25+'],
  ['glusterfs', 'deprecated in v1.25, non-functional in v1.26+'],
  ['cephfs', 'deprecated in v1.28, non-functional in v1.31+'],
  ['rbd', 'deprecated in v1.28, non-functional in v1.31+'],
])

const podSeccomp = 'seccomp.security.alpha.kubernetes.io/pod'
const containerSeccomp = 'container.seccomp.security.alpha.kubernetes.io/'
const useSeccompField = 'non-functional in v1.27+; use the "seccompProfile" field instead'
const matchesNothing = 'a null labelSelector results in matching no pod'

/** Of a kind that keeps a template of pods at `spec.template`. */
export function templateWarnings(object: KubeObject): string[] {
  return podWarnings(part(object, 'spec', 'template'), 'spec.template')
}

export function podWarnings(pod: Fields | undefined, path = ''): string[] {
  const spec = part(pod, 'spec')
  if (spec === undefined) return []
  const inside = (name: string) => (path === '' ? name : child(path, name))
  const annotations = textMap(part(pod, 'metadata')?.annotations)
  const annotation = (name: string) => `${inside('metadata')}.annotations[${name}]`
  const warnings: string[] = []
  const specPath = inside('spec')

  warnings.push(...placement(spec, specPath))
  for (const [name, why] of oldAnnotations) {
    if (Object.hasOwn(annotations, name)) warnings.push(`${annotation(name)}: ${why}`)
  }
  for (const [i, volume] of items(spec.volumes).entries()) {
    for (const [field, why] of oldVolumes) {
      if (!isAbsent(volume[field])) warnings.push(`${child(at(child(specPath, 'volumes'), i), field)}: ${why}`)
    }
  }
  warnings.push(...repeated(items(spec.hostAliases), 'ip', child(specPath, 'hostAliases')))
  warnings.push(...repeated(items(spec.imagePullSecrets), 'name', child(specPath, 'imagePullSecrets')))
  if (Object.hasOwn(annotations, podSeccomp) && part(spec, 'securityContext', 'seccompProfile') === undefined) {
    warnings.push(`${annotation(podSeccomp)}: ${useSeccompField}`)
  }
  const containers = containersWithPath(spec, specPath)
  for (const [container, where] of containers) {
    const key = `${containerSeccomp}${text(container.name)}`
    if (Object.hasOwn(annotations, key) && part(container, 'securityContext', 'seccompProfile') === undefined) {
      warnings.push(`${annotation(key)}: ${useSeccompField}`)
    }
    warnings.push(...hiddenVariables(container, child(where, 'env')))
  }
  warnings.push(...overlappingPorts(containers), ...repeatedPortNames(containers))
  if (Number(spec.terminationGracePeriodSeconds ?? 0) < 0) {
    const where = child(specPath, 'terminationGracePeriodSeconds')
    warnings.push(`${where}: must be >= 0; negative values are invalid and will be treated as 1`)
  }
  return warnings
}

function placement(spec: Fields, path: string): string[] {
  const warnings: string[] = []
  for (const label of Object.keys(textMap(spec.nodeSelector))) {
    const why = oldLabels.get(label)
    if (why !== undefined) warnings.push(`${child(path, 'nodeSelector')}[${label}]: ${why}`)
  }
  for (const [i, constraint] of items(spec.topologySpreadConstraints).entries()) {
    const where = at(child(path, 'topologySpreadConstraints'), i)
    const why = oldLabels.get(text(constraint.topologyKey))
    if (why !== undefined) warnings.push(`${child(where, 'topologyKey')}: ${text(constraint.topologyKey)} is ${why}`)
    if (isAbsent(constraint.labelSelector)) warnings.push(`${child(where, 'labelSelector')}: ${matchesNothing}`)
  }
  return warnings
}

function repeated(list: Fields[], field: string, path: string): string[] {
  const seen = new Set<string>()
  return list.flatMap((item, i) => {
    const value = text(item[field])
    const isRepeated = seen.has(value)
    seen.add(value)
    return isRepeated ? [`${child(at(path, i), field)}: duplicate ${field} ${quote(value)}`] : []
  })
}

type Placed = readonly [container: Fields, path: string]

function containersWithPath(spec: Fields, path: string): Placed[] {
  return ['initContainers', 'containers', 'ephemeralContainers'].flatMap(field =>
    items(spec[field]).map((container, i): Placed => [container, at(child(path, field), i)]),
  )
}

/** A later value may refer to the earlier one of the same name; one that does not hides it. */
function hiddenVariables(container: Fields, path: string): string[] {
  const seen = new Set<string>()
  return items(container.env).flatMap((variable, i) => {
    const name = text(variable.name)
    const isRepeated = seen.has(name)
    seen.add(name)
    const own = `$(${name})`
    const value = text(variable.value)
    const builds = isAbsent(variable.valueFrom) && value !== own && value.includes(own)
    if (!isRepeated || builds) return []
    return [`${at(path, i)}: hides previous definition of ${quote(name)}, which may be dropped when using apply`]
  })
}

function overlappingPorts(containers: readonly Placed[]): string[] {
  const seen = new Map<string, { port: Fields; path: string }[]>()
  const warnings: string[] = []
  for (const [port, path] of portsOf(containers)) {
    const key = `${String(port.containerPort)}/${text(port.protocol)}`
    const others = seen.get(key) ?? []
    for (const other of others) {
      const how = howPortsMeet(port, other.port)
      if (how !== undefined) warnings.push(`${path}: ${how} port definition with ${other.path}`)
    }
    seen.set(key, [...others, { port, path }])
  }
  return warnings
}

function howPortsMeet(one: Fields, other: Fields): string | undefined {
  const [onePort, otherPort] = [Number(one.hostPort ?? 0), Number(other.hostPort ?? 0)]
  const [oneIP, otherIP] = [text(one.hostIP), text(other.hostIP)]
  if (oneIP === otherIP && onePort === otherPort) return 'duplicate'
  if (onePort === 0 || otherPort === 0) return 'overlapping'
  if (onePort === otherPort && (oneIP === '') !== (otherIP === '')) return 'dangerously ambiguous'
  return undefined
}

function repeatedPortNames(containers: readonly Placed[]): string[] {
  const seen = new Map<string, string>()
  return portsOf(containers).flatMap(([port, path]) => {
    const name = text(port.name)
    const other = seen.get(name)
    if (name === '') return []
    if (other === undefined) {
      seen.set(name, path)
      return []
    }
    return [
      `${path}: duplicate port name ${quote(name)} with ${other}, services and probes that select ports by name will use ${other}`,
    ]
  })
}

function portsOf(containers: readonly Placed[]): Placed[] {
  return containers.flatMap(([container, path]) =>
    items(container.ports).map((port, i): Placed => [port, at(child(path, 'ports'), i)]),
  )
}
