// The checks of a pod, alone or in a template. All faults are found at once, in field order, with kube-apiserver's
// messages.

import {
  at,
  child,
  duplicate,
  type Fault,
  forbidden,
  invalid,
  notFoundValue,
  notSupported,
  required,
} from '../faults.ts'
import { checkLabels } from '../metadata.ts'
import { checkLabel, checkSubdomain } from '../names.ts'
import { clone, equal } from '../object.ts'
import { toQuantity } from '../wire/quantity.ts'
import { type Fields, items, part, text, textMap } from './fields.ts'
import { checkNotNegative, checkPort, checkPortName, checkPortOrName, numberOf } from './number-checks.ts'

const pullPolicies = ['Always', 'IfNotPresent', 'Never']
const messagePolicies = ['File', 'FallbackToLogsOnError']
const protocols = ['SCTP', 'TCP', 'UDP']
const restartPolicies = ['Always', 'OnFailure', 'Never']
const dnsPolicies = ['ClusterFirstWithHostNet', 'ClusterFirst', 'Default', 'None']
const int32Max = 2_147_483_647

export function checkPodTemplate(template: Fields | undefined, path: string): Fault[] {
  const spec = part(template, 'spec') ?? {}
  const faults = [
    ...checkLabels(textMap(part(template, 'metadata')?.labels), child(path, 'labels')),
    ...checkPodSpec(spec, child(path, 'spec')),
  ]
  if (items(spec.ephemeralContainers).length > 0) {
    faults.push(forbidden(child(path, 'spec.ephemeralContainers'), 'ephemeral containers not allowed in pod template'))
  }
  return faults
}

export function checkPodSpec(spec: Fields, path: string): Fault[] {
  const volumes = new Set(items(spec.volumes).map(volume => text(volume.name)))
  const faults = [
    ...checkVolumes(items(spec.volumes), child(path, 'volumes')),
    ...checkContainers(spec, volumes, path),
    ...oneOf(spec.restartPolicy, restartPolicies, child(path, 'restartPolicy')),
    ...oneOf(spec.dnsPolicy, dnsPolicies, child(path, 'dnsPolicy')),
    ...checkLabels(textMap(spec.nodeSelector), child(path, 'nodeSelector')),
  ]
  for (const field of ['serviceAccountName', 'nodeName'] as const) {
    const value = text(spec[field])
    if (value === '') continue
    for (const complaint of checkSubdomain(value)) faults.push(invalid(child(path, field), value, complaint))
  }
  const deadline = numberOf(spec.activeDeadlineSeconds)
  if (deadline !== undefined && (deadline < 1 || deadline > int32Max)) {
    faults.push(invalid(child(path, 'activeDeadlineSeconds'), deadline, `must be between 1 and ${int32Max}, inclusive`))
  }
  for (const field of ['hostname', 'subdomain'] as const) {
    const value = text(spec[field])
    if (value === '') continue
    for (const complaint of checkLabel(value)) faults.push(invalid(child(path, field), value, complaint))
  }
  faults.push(...checkTolerations(items(spec.tolerations), child(path, 'tolerations')))
  return faults
}

/** Faults of a pod that is being created and is not part of a template. */
export function checkNewPod(spec: Fields): Fault[] {
  const faults: Fault[] = []
  if (items(spec.ephemeralContainers).length > 0) {
    faults.push(forbidden('spec.ephemeralContainers', 'cannot be set on create'))
  }
  if (text(spec.nodeName) !== '' && items(spec.schedulingGates).length > 0) {
    faults.push(forbidden('spec.nodeName', 'cannot be set until all schedulingGates have been cleared'))
  }
  return faults
}

function oneOf(value: unknown, allowed: readonly string[], path: string): Fault[] {
  if (text(value) === '') return [required(path)]
  return allowed.includes(text(value)) ? [] : [notSupported(path, value, allowed)]
}

function checkVolumes(volumes: Fields[], path: string): Fault[] {
  const faults: Fault[] = []
  const names = new Set<string>()
  for (const [i, volume] of volumes.entries()) {
    const here = at(path, i)
    const found: Fault[] = []
    const sources = Object.keys(volume).filter(field => field !== 'name')
    if (sources.length === 0) found.push(required(here, 'must specify a volume type'))
    for (const extra of sources.slice(1)) {
      found.push(forbidden(child(here, extra), 'may not specify more than 1 volume type'))
    }
    found.push(...checkVolumeSource(volume, here))
    found.push(...checkName(volume.name, child(here, 'name')))
    const name = text(volume.name)
    if (names.has(name)) found.push(duplicate(child(here, 'name'), name))
    else if (found.length === 0) names.add(name)
    faults.push(...found)
  }
  return faults
}

const requiredOfSources: readonly (readonly [source: string, field: string])[] = [
  ['secret', 'secretName'],
  ['configMap', 'name'],
  ['persistentVolumeClaim', 'claimName'],
  ['hostPath', 'path'],
  ['csi', 'driver'],
]

function checkVolumeSource(volume: Fields, path: string): Fault[] {
  const faults: Fault[] = []
  for (const [source, field] of requiredOfSources) {
    const of = part(volume, source)
    if (of !== undefined && text(of[field]) === '') faults.push(required(child(path, `${source}.${field}`)))
  }
  return faults
}

function checkContainers(spec: Fields, volumes: ReadonlySet<string>, path: string): Fault[] {
  const containers = items(spec.containers)
  const initContainers = items(spec.initContainers)
  const faults: Fault[] = []
  if (containers.length === 0) faults.push(required(child(path, 'containers')))
  const names = new Set<string>()
  for (const [i, container] of containers.entries()) {
    const here = at(child(path, 'containers'), i)
    faults.push(...checkContainer(container, volumes, here), ...checkUnique(container, names, here))
    for (const probe of ['livenessProbe', 'readinessProbe', 'startupProbe']) {
      faults.push(...checkProbe(part(container, probe), child(here, probe)))
    }
  }
  faults.push(...checkHostPorts(containers, child(path, 'containers')))
  for (const [i, container] of initContainers.entries()) {
    const here = at(child(path, 'initContainers'), i)
    faults.push(...checkContainer(container, volumes, here), ...checkUnique(container, names, here))
    if (container.restartPolicy === 'Always') continue
    for (const field of ['lifecycle', 'livenessProbe', 'readinessProbe', 'startupProbe']) {
      if (part(container, field) === undefined) continue
      faults.push(forbidden(child(here, field), 'may not be set for init containers without restartPolicy=Always'))
    }
  }
  return faults
}

function checkUnique(container: Fields, names: Set<string>, path: string): Fault[] {
  const name = text(container.name)
  if (names.has(name)) return [duplicate(child(path, 'name'), name)]
  if (name !== '') names.add(name)
  return []
}

function checkName(value: unknown, path: string): Fault[] {
  const name = text(value)
  if (name === '') return [required(path)]
  return checkLabel(name).map(complaint => invalid(path, name, complaint))
}

function checkContainer(container: Fields, volumes: ReadonlySet<string>, path: string): Fault[] {
  const faults = checkName(container.name, child(path, 'name'))
  if (text(container.image) === '') faults.push(required(child(path, 'image')))
  faults.push(
    ...oneOf(container.terminationMessagePolicy, messagePolicies, child(path, 'terminationMessagePolicy')),
    ...checkContainerPorts(items(container.ports), child(path, 'ports')),
  )
  for (const [i, variable] of items(container.env).entries()) {
    faults.push(...checkVariable(variable, at(child(path, 'env'), i)))
  }
  faults.push(
    ...checkMounts(items(container.volumeMounts), volumes, child(path, 'volumeMounts')),
    ...oneOf(container.imagePullPolicy, pullPolicies, child(path, 'imagePullPolicy')),
    ...checkResources(part(container, 'resources'), child(path, 'resources')),
  )
  return faults
}

function checkVariable(variable: Fields, path: string): Fault[] {
  const name = text(variable.name)
  if (name === '') return [required(child(path, 'name'))]
  const faults: Fault[] = []
  if (!/^[ -<>-~]+$/.test(name)) {
    const rule = "a valid environment variable name must consist only of printable ASCII characters other than '='"
    faults.push(invalid(child(path, 'name'), name, rule))
  }
  const sources = Object.keys(part(variable, 'valueFrom') ?? {})
  if (sources.length > 0 && text(variable.value) !== '') {
    faults.push(invalid(child(path, 'valueFrom'), '', 'may not be specified when `value` is not empty'))
  }
  if (sources.length > 1) {
    faults.push(invalid(child(path, 'valueFrom'), '', 'may not have more than one field specified at a time'))
  }
  return faults
}

function checkContainerPorts(ports: Fields[], path: string): Fault[] {
  const faults: Fault[] = []
  const names = new Set<string>()
  for (const [i, port] of ports.entries()) {
    const here = at(path, i)
    const name = text(port.name)
    if (name !== '') {
      const complaints = checkPortName(name)
      for (const complaint of complaints) faults.push(invalid(child(here, 'name'), name, complaint))
      if (complaints.length === 0 && names.has(name)) faults.push(duplicate(child(here, 'name'), name))
      if (complaints.length === 0) names.add(name)
    }
    if (!port.containerPort) faults.push(required(child(here, 'containerPort')))
    else faults.push(...checkPort(port.containerPort, child(here, 'containerPort')))
    if (port.hostPort) faults.push(...checkPort(port.hostPort, child(here, 'hostPort')))
    faults.push(...oneOf(port.protocol, protocols, child(here, 'protocol')))
  }
  return faults
}

function checkHostPorts(containers: Fields[], path: string): Fault[] {
  const faults: Fault[] = []
  const taken = new Set<string>()
  for (const [i, container] of containers.entries()) {
    for (const [j, port] of items(container.ports).entries()) {
      if (!port.hostPort) continue
      const key = `${text(port.protocol)}/${text(port.hostIP)}/${numberOf(port.hostPort) ?? 0}`
      if (taken.has(key)) faults.push(duplicate(`${at(`${at(path, i)}.ports`, j)}.hostPort`, key))
      taken.add(key)
    }
  }
  return faults
}

function checkMounts(mounts: Fields[], volumes: ReadonlySet<string>, path: string): Fault[] {
  const faults: Fault[] = []
  const paths = new Set<string>()
  for (const [i, mount] of mounts.entries()) {
    const here = at(path, i)
    const name = text(mount.name)
    const mountPath = text(mount.mountPath)
    if (name === '') faults.push(required(child(here, 'name')))
    if (!volumes.has(name)) faults.push(notFoundValue(child(here, 'name'), name))
    if (mountPath === '') faults.push(required(child(here, 'mountPath')))
    if (paths.has(mountPath)) faults.push(invalid(child(here, 'mountPath'), mountPath, 'must be unique'))
    paths.add(mountPath)
  }
  return faults
}

function checkResources(resources: Fields | undefined, path: string): Fault[] {
  const faults: Fault[] = []
  const limits = part(resources, 'limits') ?? {}
  const requests = part(resources, 'requests') ?? {}
  for (const [list, amounts] of [['limits', limits] as const, ['requests', requests] as const]) {
    for (const [name, amount] of Object.entries(amounts)) {
      const quantity = toQuantity(amount)
      if (quantity !== undefined && quantity.nanos < 0n) {
        faults.push(invalid(at(child(path, list), name), amount, 'must be greater than or equal to 0'))
      }
    }
  }
  for (const [name, amount] of Object.entries(requests)) {
    if (!Object.hasOwn(limits, name)) continue
    const asked = toQuantity(amount)
    const allowed = toQuantity(limits[name])
    if (asked !== undefined && allowed !== undefined && asked.nanos > allowed.nanos) {
      faults.push(
        invalid(
          child(path, 'requests'),
          amount,
          `must be less than or equal to ${name} limit of ${String(limits[name])}`,
        ),
      )
    }
  }
  return faults
}

function checkHandler(handler: Fields, name: string, path: string): Fault[] {
  if (name !== 'exec') return checkPortOrName(handler.port, child(path, 'port'))
  return Array.isArray(handler.command) && handler.command.length > 0 ? [] : [required(child(path, 'command'))]
}

const handlers = ['exec', 'httpGet', 'tcpSocket', 'grpc']

function checkProbe(probe: Fields | undefined, path: string): Fault[] {
  if (probe === undefined) return []
  const faults: Fault[] = []
  const present = handlers.filter(handler => part(probe, handler) !== undefined)
  const [first] = present
  if (first === undefined) faults.push(required(path, 'must specify a handler type'))
  else faults.push(...checkHandler(part(probe, first) ?? {}, first, child(path, first)))
  for (const extra of present.slice(1)) {
    faults.push(forbidden(child(path, extra), 'may not specify more than 1 handler type'))
  }
  for (const field of [
    'initialDelaySeconds',
    'timeoutSeconds',
    'periodSeconds',
    'successThreshold',
    'failureThreshold',
  ]) {
    faults.push(...checkNotNegative(probe[field], child(path, field)))
  }
  if (path.endsWith('livenessProbe') || path.endsWith('startupProbe')) {
    if (probe.successThreshold !== 1)
      faults.push(invalid(child(path, 'successThreshold'), probe.successThreshold, 'must be 1'))
  }
  return faults
}

function checkTolerations(tolerations: Fields[], path: string): Fault[] {
  const faults: Fault[] = []
  for (const [i, toleration] of tolerations.entries()) {
    const here = at(path, i)
    const operator = text(toleration.operator)
    if (text(toleration.key) === '' && operator !== 'Exists') {
      const why = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
      faults.push(invalid(child(here, 'operator'), operator, why))
    }
    if (numberOf(toleration.tolerationSeconds) !== undefined && toleration.effect !== 'NoExecute') {
      const why = "effect must be 'NoExecute' when `tolerationSeconds` is set"
      faults.push(invalid(child(here, 'effect'), text(toleration.effect), why))
    }
    if (operator === 'Exists' && text(toleration.value) !== '') {
      faults.push(invalid(child(here, 'operator'), toleration.value, "value must be empty when `operator` is 'Exists'"))
    }
    if (!['', 'Equal', 'Exists'].includes(operator)) {
      faults.push(notSupported(child(here, 'operator'), operator, ['Equal', 'Exists']))
    }
  }
  return faults
}

const changeable =
  'spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` ' +
  '(only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)'

/** A pod is scheduled and started from its spec; afterwards only a few fields may change. */
export function checkPodChange(spec: Fields, old: Fields): Fault[] {
  const faults: Fault[] = []
  for (const list of ['containers', 'initContainers'] as const) {
    if (items(spec[list]).length === items(old[list]).length) continue
    const why = 'pod updates may not add or remove containers'
    return [forbidden(`spec.${list}`, why)]
  }
  faults.push(...checkDeadlineChange(spec.activeDeadlineSeconds, old.activeDeadlineSeconds))
  const added = items(old.tolerations).every(before =>
    items(spec.tolerations).some(after => sameToleration(before, after)),
  )
  if (!added)
    faults.push(forbidden('spec.tolerations', 'existing toleration can not be modified except its tolerationSeconds'))
  const gates = new Set(items(old.schedulingGates).map(gate => text(gate.name)))
  for (const gate of items(spec.schedulingGates)) {
    if (gates.has(text(gate.name))) continue
    faults.push(
      forbidden('spec.schedulingGates', `only deletion is allowed, but found new scheduling gate '${text(gate.name)}'`),
    )
  }
  if (!equal(withoutChangeable(spec, old), old)) {
    faults.push(forbidden('spec', `pod updates may not change fields other than \`${changeable}`))
  }
  return faults
}

function sameToleration(a: Fields, b: Fields): boolean {
  return equal({ ...a, tolerationSeconds: undefined }, { ...b, tolerationSeconds: undefined })
}

function checkDeadlineChange(value: unknown, before: unknown): Fault[] {
  const path = 'spec.activeDeadlineSeconds'
  const seconds = numberOf(value)
  const oldSeconds = numberOf(before)
  if (seconds === undefined && oldSeconds !== undefined) {
    return [invalid(path, null, 'must not update from a positive integer to nil value')]
  }
  if (seconds === undefined || oldSeconds === undefined || oldSeconds >= seconds) return []
  return [invalid(path, seconds, 'must be less than or equal to previous value')]
}

/** The new spec with every field that may change set back to what it was. */
function withoutChangeable(spec: Fields, old: Fields): Fields {
  const same = clone(spec)
  for (const list of ['containers', 'initContainers'] as const) {
    const before = items(old[list])
    for (const [i, container] of items(same[list]).entries()) container.image = before[i]?.image
  }
  for (const field of ['activeDeadlineSeconds', 'schedulingGates', 'tolerations']) same[field] = old[field]
  const grace = numberOf(old.terminationGracePeriodSeconds)
  if (grace !== undefined && grace < 0 && same.terminationGracePeriodSeconds === 1) {
    same.terminationGracePeriodSeconds = old.terminationGracePeriodSeconds
  }
  return same
}
