// Services, and the endpoints behind them. `verbs/service-addresses.ts` chooses cluster IPs; this file says which
// services need one.

import { isIPv6 } from 'node:net'
import { at, child, duplicate, type Fault, invalid, notSupported, required, tooMany } from '../faults.ts'
import type { Behaviour } from '../kinds/kind.ts'
import { checkLabels } from '../metadata.ts'
import { checkLabel, checkSubdomain } from '../names.ts'
import { equal } from '../object.ts'
import { checkEndpointIP, checkIP } from './address-checks.ts'
import { type Fields, fill, isAbsent, items, part, text, textMap, texts } from './fields.ts'
import { checkPort, checkPortOrName } from './number-checks.ts'

const protocols = ['SCTP', 'TCP', 'UDP']
const types = ['ClusterIP', 'ExternalName', 'LoadBalancer', 'NodePort']
const affinities = ['ClientIP', 'None']
const affinitySeconds = 10_800

export const services: Behaviour = {
  applyDefaults(object) {
    const spec = part(object, 'spec')
    if (spec === undefined) return
    fill(spec, 'sessionAffinity', 'None')
    if (spec.sessionAffinity === 'None') delete spec.sessionAffinityConfig
    if (
      spec.sessionAffinity === 'ClientIP' &&
      isAbsent(part(spec, 'sessionAffinityConfig', 'clientIP')?.timeoutSeconds)
    ) {
      spec.sessionAffinityConfig = { clientIP: { timeoutSeconds: affinitySeconds } }
    }
    fill(spec, 'type', 'ClusterIP')
    for (const port of items(spec.ports)) {
      fill(port, 'protocol', 'TCP')
      if (isAbsent(port.targetPort) || port.targetPort === 0) port.targetPort = port.port
    }
    const isReached = spec.type === 'NodePort' || spec.type === 'LoadBalancer'
    const isExternal = isReached || (spec.type === 'ClusterIP' && texts(spec.externalIPs).length > 0)
    if (isExternal) fill(spec, 'externalTrafficPolicy', 'Cluster')
    if (isReached || spec.type === 'ClusterIP') fill(spec, 'internalTrafficPolicy', 'Cluster')
    if (spec.type === 'LoadBalancer') fill(spec, 'allocateLoadBalancerNodePorts', true)
  },
  prepareForCreate(object) {
    object.status = { loadBalancer: {} }
    settleFamilies(part(object, 'spec'))
  },
  prepareForUpdate(object, old) {
    keepAddresses(part(object, 'spec'), part(old, 'spec'))
    settleFamilies(part(object, 'spec'))
  },
  validate: object => checkService(part(object, 'spec') ?? {}),
  validateUpdate: (object, old) => checkServiceChange(part(object, 'spec') ?? {}, part(old, 'spec') ?? {}),
  fields: {
    'spec.clusterIP': object => text(part(object, 'spec')?.clusterIP),
    'spec.type': object => text(part(object, 'spec')?.type),
  },
  nameRule: 'dns-1035-label',
}

/** `clusterIP`, `clusterIPs` and `ipFamilies` say the same three times; a client may have set only one of them. */
function settleFamilies(spec: Fields | undefined): void {
  if (spec === undefined) return
  if (spec.type === 'ExternalName') {
    for (const field of ['clusterIP', 'clusterIPs', 'ipFamilies', 'ipFamilyPolicy']) delete spec[field]
    return
  }
  const addresses = texts(spec.clusterIPs)
  const address = text(spec.clusterIP) || addresses[0] || ''
  if (address !== '') {
    spec.clusterIP = address
    if (addresses.length === 0) spec.clusterIPs = [address]
  }
  const isHeadlessAlone = address === 'None' && Object.keys(textMap(spec.selector)).length === 0
  fill(spec, 'ipFamilyPolicy', isHeadlessAlone ? 'RequireDualStack' : 'SingleStack')
  if (texts(spec.ipFamilies).length > 0) return
  if (isHeadlessAlone) spec.ipFamilies = ['IPv4', 'IPv6']
  else spec.ipFamilies = [isIPv6(address) ? 'IPv6' : 'IPv4']
}

/** A client that leaves the address out of an update means to keep it; one that changes it may know only one field. */
function keepAddresses(spec: Fields | undefined, old: Fields | undefined): void {
  if (spec === undefined || old === undefined || spec.type === 'ExternalName' || old.type === 'ExternalName') return
  const address = text(spec.clusterIP)
  const isOldList = equal(spec.clusterIPs, old.clusterIPs)
  if (address !== '' && address !== old.clusterIP && isOldList)
    spec.clusterIPs = [address, ...texts(old.clusterIPs).slice(1)]
  if (address !== '') return
  for (const field of ['clusterIP', 'clusterIPs', 'ipFamilies', 'ipFamilyPolicy']) fill(spec, field, old[field])
}

function checkService(spec: Fields): Fault[] {
  const faults: Fault[] = []
  const ports = items(spec.ports)
  const isHeadless = spec.clusterIP === 'None'
  const isExternal = spec.type === 'ExternalName'
  if (ports.length === 0 && !isHeadless && !isExternal) faults.push(required('spec.ports'))
  if (isExternal) {
    const name = text(spec.externalName).replace(/\.$/, '')
    if (name === '') faults.push(required('spec.externalName'))
    else faults.push(...checkSubdomain(name).map(why => invalid('spec.externalName', name, why)))
  }
  const names = new Set<string>()
  for (const [i, port] of ports.entries()) {
    faults.push(...checkServicePort(port, ports.length > 1, names, at('spec.ports', i)))
  }
  faults.push(...checkLabels(textMap(spec.selector), 'spec.selector'))
  if (!affinities.includes(text(spec.sessionAffinity))) {
    faults.push(notSupported('spec.sessionAffinity', spec.sessionAffinity, affinities))
  }
  if (!types.includes(text(spec.type))) faults.push(notSupported('spec.type', spec.type, types))
  return [...faults, ...checkRepeatedPorts(ports)]
}

function checkServicePort(port: Fields, needsName: boolean, names: Set<string>, path: string): Fault[] {
  const faults: Fault[] = []
  const name = text(port.name)
  if (name === '' && needsName) faults.push(required(child(path, 'name')))
  if (name !== '') {
    faults.push(...checkLabel(name).map(why => invalid(child(path, 'name'), name, why)))
    if (names.has(name)) faults.push(duplicate(child(path, 'name'), name))
    names.add(name)
  }
  faults.push(...checkPort(port.port, child(path, 'port')))
  if (!protocols.includes(text(port.protocol))) {
    faults.push(notSupported(child(path, 'protocol'), port.protocol, protocols))
  }
  return [...faults, ...checkPortOrName(port.targetPort, child(path, 'targetPort'))]
}

function checkRepeatedPorts(ports: Fields[]): Fault[] {
  const taken = new Set<string>()
  const faults: Fault[] = []
  for (const [i, port] of ports.entries()) {
    const key = `${text(port.protocol)}/${String(port.port)}`
    // Kubernetes shows the port under the names its code has for it, with only what counts filled in.
    const shown = { Name: '', Protocol: port.protocol, AppProtocol: null, Port: port.port, TargetPort: 0, NodePort: 0 }
    if (taken.has(key)) faults.push(duplicate(at('spec.ports', i), shown))
    taken.add(key)
  }
  return faults
}

function checkServiceChange(spec: Fields, old: Fields): Fault[] {
  const had = text(old.clusterIP)
  if (spec.type === 'ExternalName' || old.type === 'ExternalName') return []
  if (had === '' || text(spec.clusterIP) === had) return []
  const shown = texts(spec.clusterIPs)
  return [invalid('spec.clusterIPs[0]', shown, 'may not change once set')]
}

export const endpoints: Behaviour = {
  applyDefaults(object) {
    for (const subset of items(object.subsets)) {
      for (const port of items(subset.ports)) fill(port, 'protocol', 'TCP')
    }
  },
  validate: (object, old) =>
    old !== undefined && equal(object.subsets, old.subsets)
      ? []
      : items(object.subsets).flatMap((subset, i) => checkSubset(subset, at('subsets', i))),
}

function checkSubset(subset: Fields, path: string): Fault[] {
  const lists = ['addresses', 'notReadyAddresses']
  const faults = lists.flatMap(list =>
    items(subset[list]).flatMap((address, i) => checkEndpointAddress(address, at(child(path, list), i))),
  )
  if (lists.every(list => items(subset[list]).length === 0)) {
    faults.push(required(path, 'must specify `addresses` or `notReadyAddresses`'))
  }
  const ports = items(subset.ports)
  return [
    ...faults,
    ...ports.flatMap((port, i) => checkEndpointPort(port, ports.length > 1, at(child(path, 'ports'), i))),
  ]
}

function checkEndpointAddress(address: Fields, path: string): Fault[] {
  const ip = text(address.ip)
  const hostname = text(address.hostname)
  const node = text(address.nodeName)
  return [
    ...checkIP(ip, child(path, 'ip')),
    ...(hostname === '' ? [] : checkLabel(hostname).map(why => invalid(child(path, 'hostname'), hostname, why))),
    ...(node === '' ? [] : checkSubdomain(node).map(why => invalid(child(path, 'nodeName'), node, why))),
    ...checkEndpointIP(ip, child(path, 'ip')),
  ]
}

function checkEndpointPort(port: Fields, needsName: boolean, path: string): Fault[] {
  const name = text(port.name)
  const faults: Fault[] = []
  if (name !== '') faults.push(...checkLabel(name).map(why => invalid(child(path, 'name'), name, why)))
  else if (needsName) faults.push(required(child(path, 'name')))
  faults.push(...checkPort(port.port, child(path, 'port')))
  if (protocols.includes(text(port.protocol))) return faults
  return [...faults, notSupported(child(path, 'protocol'), port.protocol, protocols)]
}

const addressTypes = ['FQDN', 'IPv4', 'IPv6']

export const endpointSlices: Behaviour = {
  applyDefaults(object) {
    for (const port of items(object.ports)) {
      fill(port, 'name', '')
      fill(port, 'protocol', 'TCP')
    }
  },
  validate(object, old) {
    if (text(object.addressType) === '') return [required('addressType')]
    if (!addressTypes.includes(text(object.addressType))) {
      return [notSupported('addressType', object.addressType, addressTypes)]
    }
    // Endpoints that are stored already are accepted.
    if (old !== undefined && equal(object.endpoints, old.endpoints)) return []
    return items(object.endpoints).flatMap((endpoint, i) =>
      checkEndpoint(endpoint, text(object.addressType), child(at('endpoints', i), 'addresses')),
    )
  },
  prepareForUpdate(object, old) {
    // Labels say which service the slice belongs to, so they count as content.
    if (equal(object.metadata.labels ?? {}, old.metadata.labels ?? {})) return
    object.metadata.generation = Number(old.metadata.generation ?? 0) + 1
  },
  validateUpdate: (object, old) =>
    object.addressType === old.addressType ? [] : [invalid('addressType', object.addressType, 'field is immutable')],
  hasGeneration: true,
}

const endpointAddressesMax = 100

function checkEndpoint(endpoint: Fields, type: string, path: string): Fault[] {
  const addresses = texts(endpoint.addresses)
  if (addresses.length === 0) return [required(path, 'must contain at least 1 address')]
  const faults = addresses.length > endpointAddressesMax ? [tooMany(path, addresses.length, endpointAddressesMax)] : []
  if (type === 'FQDN') {
    return [
      ...faults,
      ...addresses.flatMap((name, i) => checkSubdomain(name).map(why => invalid(at(path, i), name, why))),
    ]
  }
  for (const [i, address] of addresses.entries()) {
    const malformed = checkIP(address, at(path, i))
    faults.push(...malformed)
    if (malformed.length > 0) continue
    if (isIPv6(address) !== (type === 'IPv6')) faults.push(invalid(path, address, `must be an ${type} address`))
    faults.push(...checkEndpointIP(address, at(path, i)))
  }
  return faults
}
