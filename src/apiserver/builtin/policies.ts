// Small kinds that others read: disruption budgets, priorities, leases, autoscalers, runtime classes, certificate
// requests and API registrations.

import { type Fault, forbidden, invalid, notSupported, quote, required } from '../faults.ts'
import type { Behaviour } from '../kinds/kind.ts'
import { toTimestamp } from '../metadata.ts'
import { checkLabel, checkLabel1035, checkSubdomain } from '../names.ts'
import { clone, type KubeObject } from '../object.ts'
import { ensure, type Fields, fill, isAbsent, items, part, text, texts } from './fields.ts'
import { checkAtMostAll, checkCountOrPercent, numberOf } from './number-checks.ts'
import { checkSelector } from './selector-checks.ts'

const specOf = (object: KubeObject): Fields => part(object, 'spec') ?? {}

export const disruptionBudgets: Behaviour = {
  prepareForCreate(object) {
    object.status = { disruptionsAllowed: 0, currentHealthy: 0, desiredHealthy: 0, expectedPods: 0 }
  },
  validate(object) {
    const spec = specOf(object)
    const faults: Fault[] = []
    const counts = ['minAvailable', 'maxUnavailable'].filter(field => !isAbsent(spec[field]))
    if (counts.length === 2) {
      faults.push(invalid('spec', toGoBudget(spec), 'minAvailable and maxUnavailable cannot be both set'))
    }
    for (const field of counts) {
      const path = `spec.${field}`
      faults.push(...checkCountOrPercent(spec[field], path), ...checkAtMostAll(spec[field], path))
    }
    return [...faults, ...checkSelector(part(spec, 'selector'), 'spec.selector')]
  },
  hasGeneration: true,
}

/** Kubernetes shows the whole budget here, under the names its code has for it. */
function toGoBudget(spec: Fields): Fields {
  return {
    MinAvailable: spec.minAvailable,
    Selector: spec.selector ?? null,
    MaxUnavailable: spec.maxUnavailable,
    UnhealthyPodEvictionPolicy: spec.unhealthyPodEvictionPolicy ?? null,
  }
}

const highestUserPriority = 1_000_000_000
const preemptionPolicies = ['PreemptLowerPriority', 'Never']
/** The two classes every cluster has. */
export const systemPriorities: ReadonlyMap<string, number> = new Map([
  ['system-node-critical', 2_000_001_000],
  ['system-cluster-critical', 2_000_000_000],
])

export const priorityClasses: Behaviour = {
  applyDefaults: object => fill(object, 'preemptionPolicy', 'PreemptLowerPriority'),
  validate(object) {
    const name = object.metadata.name ?? ''
    const value = numberOf(object.value) ?? 0
    const faults: Fault[] = []
    if (name.startsWith('system-')) faults.push(...checkSystemPriority(name, value, object.globalDefault === true))
    else if (value > highestUserPriority) {
      faults.push(forbidden('value', `maximum allowed value of a user defined priority is ${highestUserPriority}`))
    }
    if (!preemptionPolicies.includes(text(object.preemptionPolicy))) {
      faults.push(notSupported('preemptionPolicy', object.preemptionPolicy, preemptionPolicies))
    }
    return faults
  },
  validateUpdate(object, old) {
    const faults: Fault[] = []
    if (object.value !== old.value) faults.push(forbidden('value', 'may not be changed in an update.'))
    if (object.preemptionPolicy !== old.preemptionPolicy) {
      faults.push(invalid('preemptionPolicy', object.preemptionPolicy, 'field is immutable'))
    }
    return faults
  },
  hasGeneration: true,
}

function checkSystemPriority(name: string, value: number, isDefault: boolean): Fault[] {
  const expected = systemPriorities.get(name)
  const complaint = systemComplaint(name, expected, value, isDefault)
  if (complaint === undefined) return []
  const why = `priority class names with 'system-' prefix are reserved for system use only. error: ${complaint}`
  return [forbidden('metadata.name', why)]
}

function systemComplaint(name: string, expected: number | undefined, value: number, isDefault: boolean) {
  if (expected === undefined) return `${name} is not a known system priority class`
  if (expected !== value) return `value of ${name} PriorityClass must be ${expected}`
  return isDefault ? `globalDefault of ${name} PriorityClass must be false` : undefined
}

export const leases: Behaviour = {
  validate(object) {
    const spec = specOf(object)
    const faults: Fault[] = []
    const seconds = numberOf(spec.leaseDurationSeconds)
    if (seconds !== undefined && seconds <= 0) {
      faults.push(invalid('spec.leaseDurationSeconds', seconds, 'must be greater than 0'))
    }
    const transitions = numberOf(spec.leaseTransitions)
    if (transitions !== undefined && transitions < 0) {
      faults.push(invalid('spec.leaseTransitions', transitions, 'must be greater than or equal to 0'))
    }
    if (text(spec.preferredHolder) !== '' && text(spec.strategy) === '') {
      faults.push(forbidden('spec.preferredHolder', 'may only be specified if `strategy` is defined'))
    }
    return faults
  },
}

const scaleUp = {
  stabilizationWindowSeconds: 0,
  selectPolicy: 'Max',
  policies: [
    { type: 'Pods', value: 4, periodSeconds: 15 },
    { type: 'Percent', value: 100, periodSeconds: 15 },
  ],
}
const scaleDown = { selectPolicy: 'Max', policies: [{ type: 'Percent', value: 100, periodSeconds: 15 }] }
const defaultCPU = 80

export const autoscalers: Behaviour = {
  applyDefaults(object) {
    const spec = part(object, 'spec')
    if (spec === undefined) return
    fill(spec, 'minReplicas', 1)
    if (items(spec.metrics).length === 0) {
      const target = { type: 'Utilization', averageUtilization: defaultCPU }
      spec.metrics = [{ type: 'Resource', resource: { name: 'cpu', target } }]
    }
    const behavior = part(spec, 'behavior')
    if (behavior === undefined) return
    for (const [direction, rules] of [['scaleUp', scaleUp] as const, ['scaleDown', scaleDown] as const]) {
      const own = ensure(behavior, direction)
      for (const [field, value] of Object.entries(rules)) fill(own, field, clone(value))
    }
  },
  prepareForCreate(object) {
    object.status = { desiredReplicas: 0, currentMetrics: null }
  },
  validate: checkAutoscaler,
}

export const oldAutoscalers: Behaviour = {
  applyDefaults: object => fill(part(object, 'spec'), 'minReplicas', 1),
  prepareForCreate(object) {
    fill(part(object, 'spec'), 'targetCPUUtilizationPercentage', defaultCPU)
    object.status = { currentReplicas: 0, desiredReplicas: 0 }
  },
  validate: checkAutoscaler,
}

function checkAutoscaler(object: KubeObject): Fault[] {
  const spec = specOf(object)
  const faults: Fault[] = []
  const min = numberOf(spec.minReplicas) ?? 1
  const max = numberOf(spec.maxReplicas) ?? 0
  if (min < 1) faults.push(invalid('spec.minReplicas', min, 'must be greater than or equal to 1'))
  if (max < 1) faults.push(invalid('spec.maxReplicas', max, 'must be greater than 0'))
  if (max < min) faults.push(invalid('spec.maxReplicas', max, 'must be greater than or equal to `minReplicas`'))
  const target = part(spec, 'scaleTargetRef') ?? {}
  const apiVersion = text(target.apiVersion)
  for (const field of ['kind', 'name'])
    if (text(target[field]) === '') faults.push(required(`spec.scaleTargetRef.${field}`))
  if (!apiVersion.includes('/') && target.kind !== 'ReplicationController') {
    faults.push(invalid('spec.scaleTargetRef.apiVersion', apiVersion, 'apiVersion must specify API group'))
  }
  return faults
}

export const runtimeClasses: Behaviour = {
  validate(object) {
    const handler = text(object.handler)
    return checkLabel(handler).map(why => invalid('handler', handler, why))
  },
  validateUpdate: (object, old) =>
    object.handler === old.handler ? [] : [invalid('handler', object.handler, 'field is immutable')],
}

function checkSignerName(name: string): Fault[] {
  const path = 'spec.signerName'
  if (name === '') return [required(path)]
  const [domain = '', own = '', ...more] = name.split('/')
  if (!name.includes('/') || more.length > 0) {
    return [invalid(path, name, "must be a fully qualified domain and path of the form 'example.com/signer-name'")]
  }
  const firstBad = (whole: string, check: (label: string) => string[]): Fault[] => {
    const label = whole.split('.').find(one => check(one).length > 0)
    if (label === undefined) return []
    return check(label).map(why => invalid(path, whole, `validating label ${quote(label)}: ${why}`))
  }
  const isShort = !domain.includes('.')
  const tooShort = 'should be a domain with at least two segments separated by dots'
  return [
    ...firstBad(domain, checkLabel),
    ...(isShort ? [invalid(path, domain, tooShort)] : []),
    ...firstBad(own, checkSubdomain),
  ]
}

export const certificateRequests: Behaviour = {
  prepareForCreate(object, { user }) {
    const spec = part(object, 'spec')
    if (spec !== undefined) {
      delete spec.extra
      delete spec.uid
      spec.username = user.username
      spec.groups = [...user.groups]
      if (user.uid !== undefined && user.uid !== '') spec.uid = user.uid
    }
    object.status = {}
  },
  prepareForUpdate(object, old, { now }) {
    object.spec = clone(old.spec)
    // The approver may leave the times out.
    for (const condition of items(part(object, 'status')?.conditions)) {
      fill(condition, 'lastUpdateTime', toTimestamp(now))
      fill(condition, 'lastTransitionTime', toTimestamp(now))
    }
  },
  validate(object) {
    const spec = specOf(object)
    const faults: Fault[] = []
    const request = text(spec.request)
    if (!Buffer.from(request, 'base64').toString('latin1').includes('-----BEGIN CERTIFICATE REQUEST-----')) {
      faults.push(invalid('spec.request', request, 'PEM block type must be CERTIFICATE REQUEST'))
    }
    if (texts(spec.usages).length === 0) faults.push(required('spec.usages'))
    return [...faults, ...checkSignerName(text(spec.signerName))]
  },
  fields: { 'spec.signerName': object => text(part(object, 'spec')?.signerName) },
}

export const apiServices: Behaviour = {
  nameRule: 'path-segment',
  applyDefaults: object => fill(part(object, 'spec', 'service'), 'port', 443),
  prepareForCreate(object) {
    object.status = {}
  },
  validate(object) {
    const spec = specOf(object)
    const expected = `${text(spec.version)}.${text(spec.group)}`
    const faults: Fault[] = []
    if (object.metadata.name !== expected) {
      const why = `must be \`spec.version+"."+spec.group\`: "${expected}"`
      faults.push(invalid('metadata.name', object.metadata.name, why))
    }
    if (text(spec.group) !== '') {
      for (const why of checkSubdomain(text(spec.group))) faults.push(invalid('spec.group', spec.group, why))
    }
    for (const why of checkLabel1035(text(spec.version))) faults.push(invalid('spec.version', spec.version, why))
    for (const field of ['groupPriorityMinimum', 'versionPriority']) {
      const priority = numberOf(spec[field]) ?? 0
      const max = field === 'versionPriority' ? 1000 : 20_000
      if (priority <= 0 || priority > max) {
        faults.push(invalid(`spec.${field}`, priority, `must be positive and less than ${max}`))
      }
    }
    return [...faults, ...checkServer(spec)]
  },
}

/** Where the server of an APIService is, and how it is trusted. */
function checkServer(spec: Fields): Fault[] {
  const [bundle, isInsecure] = [text(spec.caBundle), spec.insecureSkipTLSVerify === true]
  const [bundlePath, insecurePath] = ['spec.caBundle', 'spec.insecureSkipTLSVerify']
  const service = part(spec, 'service')
  if (service === undefined) {
    const bytes = `${Buffer.from(bundle, 'base64').length} bytes`
    return [
      ...(bundle === '' ? [] : [invalid(bundlePath, bytes, 'local APIServices may not have a caBundle')]),
      ...(isInsecure ? [invalid(insecurePath, true, 'local APIServices may not have insecureSkipTLSVerify')] : []),
    ]
  }
  const missing = ['namespace', 'name'].filter(field => text(service[field]) === '')
  const port = numberOf(service.port) ?? 0
  const portFault = invalid('spec.service.port', port, 'port is not valid: must be between 1 and 65535, inclusive')
  return [
    ...missing.map(field => required(`spec.service.${field}`)),
    ...(port < 1 || port > 65_535 ? [portFault] : []),
    ...(isInsecure && bundle !== '' ? [invalid(insecurePath, true, 'may not be true if caBundle is present')] : []),
  ]
}
