// NetworkPolicy, Ingress and IngressClass.

import { isIP } from 'node:net'
import { at, child, type Fault, invalid, notSupported, required } from '../faults.ts'
import type { Behaviour } from '../kinds/kind.ts'
import { checkLabel1035, checkSubdomain } from '../names.ts'
import { type Fields, fill, items, part, text, texts } from './fields.ts'
import { checkPort, checkPortName, numberOf } from './number-checks.ts'
import { checkSelector } from './selector-checks.ts'

const policyTypes = ['Ingress', 'Egress']
const pathTypes = ['Exact', 'ImplementationSpecific', 'Prefix']

export const networkPolicies: Behaviour = {
  applyDefaults(object) {
    const spec = part(object, 'spec')
    if (spec === undefined) return
    const egress = items(spec.egress)
    if (texts(spec.policyTypes).length === 0) spec.policyTypes = egress.length > 0 ? ['Ingress', 'Egress'] : ['Ingress']
    for (const rule of [...items(spec.ingress), ...egress]) {
      for (const port of items(rule.ports)) fill(port, 'protocol', 'TCP')
    }
  },
  validate(object) {
    const spec = part(object, 'spec') ?? {}
    const types = texts(spec.policyTypes)
    const faults = checkSelector(part(spec, 'podSelector'), 'spec.podSelector')
    if (types.length > policyTypes.length) {
      return [...faults, invalid('spec.policyTypes', types, 'may not specify more than two policyTypes')]
    }
    for (const [i, type] of types.entries()) {
      if (!policyTypes.includes(type)) faults.push(notSupported(at('spec.policyTypes', i), type, policyTypes))
    }
    return faults
  },
  hasGeneration: true,
}

export const ingresses: Behaviour = {
  prepareForCreate(object) {
    object.status = { loadBalancer: {} }
  },
  validate(object) {
    const spec = part(object, 'spec') ?? {}
    const rules = items(spec.rules)
    const backend = part(spec, 'defaultBackend')
    const faults: Fault[] = []
    if (rules.length === 0 && backend === undefined) {
      faults.push(invalid('spec', null, 'either `defaultBackend` or `rules` must be specified'))
    }
    if (backend !== undefined) faults.push(...checkBackend(backend, 'spec.defaultBackend'))
    for (const [i, rule] of rules.entries()) faults.push(...checkIngressRule(rule, at('spec.rules', i)))
    const name = text(spec.ingressClassName)
    if (name !== '') faults.push(...checkSubdomain(name).map(why => invalid('spec.ingressClassName', name, why)))
    return faults
  },
  hasGeneration: true,
}

function checkIngressRule(rule: Fields, path: string): Fault[] {
  const faults: Fault[] = []
  const host = text(rule.host)
  if (isIP(host) !== 0) faults.push(invalid(child(path, 'host'), host, 'must be a DNS name, not an IP address'))
  const plain = host.startsWith('*.') ? host.slice(2) : host
  if (host !== '') faults.push(...checkSubdomain(plain).map(why => invalid(child(path, 'host'), host, why)))
  const http = part(rule, 'http')
  if (http === undefined) return faults
  const paths = items(http.paths)
  if (paths.length === 0) faults.push(required(child(path, 'http.paths')))
  for (const [i, entry] of paths.entries()) faults.push(...checkHTTPPath(entry, at(child(path, 'http.paths'), i)))
  return faults
}

function checkHTTPPath(entry: Fields, path: string): Fault[] {
  const type = text(entry.pathType)
  const urlPath = text(entry.path)
  if (type === '') return [required(child(path, 'pathType'), 'pathType must be specified')]
  const faults: Fault[] = []
  if (!pathTypes.includes(type)) faults.push(notSupported(child(path, 'pathType'), type, pathTypes))
  else if (!urlPath.startsWith('/') && (type !== 'ImplementationSpecific' || urlPath !== '')) {
    faults.push(invalid(child(path, 'path'), urlPath, 'must be an absolute path'))
  }
  return [...faults, ...checkBackend(part(entry, 'backend') ?? {}, child(path, 'backend'))]
}

function checkBackend(backend: Fields, path: string): Fault[] {
  const service = part(backend, 'service')
  const resource = part(backend, 'resource')
  if (service !== undefined && resource !== undefined) {
    return [invalid(path, '', 'cannot set both resource and service backends')]
  }
  if (resource !== undefined) return []
  if (service === undefined) return [invalid(path, '', 'resource or service backend is required')]
  const faults: Fault[] = []
  const name = text(service.name)
  if (name === '') faults.push(required(child(path, 'service.name')))
  else faults.push(...checkLabel1035(name).map(why => invalid(child(path, 'service.name'), name, why)))
  const portName = text(part(service, 'port')?.name)
  const portNumber = numberOf(part(service, 'port')?.number) ?? 0
  if (portName !== '' && portNumber !== 0) faults.push(invalid(path, '', 'cannot set both port name & port number'))
  else if (portName !== '') {
    faults.push(...checkPortName(portName).map(why => invalid(child(path, 'service.port.name'), portName, why)))
  } else if (portNumber !== 0) faults.push(...checkPort(portNumber, child(path, 'service.port.number')))
  else faults.push(required(path, 'port name or number is required'))
  return faults
}

export const ingressClasses: Behaviour = {
  applyDefaults: object => fill(part(object, 'spec', 'parameters'), 'scope', 'Cluster'),
  validate: object => (text(part(object, 'spec')?.controller) === '' ? [required('spec.controller')] : []),
  hasGeneration: true,
}
