// Where the Service of an APIService is reached. There is no service network on this machine: an ExternalName is used as it is
// written, any other Service is reached through its endpoints. Why one cannot be reached is said as kube-apiserver says it.

import { items, part, text, texts } from '../builtin/fields.ts'
import { numberOf } from '../builtin/number-checks.ts'
import type { World } from '../call.ts'
import { getObject, listObjects } from '../objects.ts'
import type { ServiceReference } from './foreign.ts'

export type Reached =
  | { readonly host: string; readonly port: number }
  /** Reason and message of the condition. */
  | { readonly reason: string; readonly message: string }

export function reach({ store, registry }: Pick<World, 'store' | 'registry'>, reference: ServiceReference): Reached {
  const { namespace, name, port } = reference
  const shown = `service/${name} in ${JSON.stringify(namespace)}`
  const services = registry.find('', 'services')
  const service = services && getObject(store, services, namespace, name)
  if (service === undefined) return { reason: 'ServiceNotFound', message: `${shown} is not present` }
  const spec = part(service, 'spec')
  if (spec?.type === 'ExternalName') return { host: text(spec.externalName), port }
  const listening = items(spec?.ports).find(one => one.port === port)
  if (listening === undefined) {
    return { reason: 'ServicePortError', message: `${shown} is not listening on port ${port}` }
  }
  const found = endpointsOf({ store, registry }, namespace, name)
  if (found.length === 0) {
    return { reason: 'EndpointsNotFound', message: `cannot find endpointslices for ${shown}` }
  }
  const portName = text(listening.name)
  for (const { addresses, ports } of found) {
    const there = ports.find(one => text(one.name) === portName)
    const [host] = addresses
    const target = numberOf(there?.port)
    if (host !== undefined && target !== undefined) return { host, port: target }
  }
  const message = `endpointslices for ${shown} have no addresses with port name ${JSON.stringify(portName)}`
  return { reason: 'MissingEndpoints', message }
}

interface Endpoints {
  /** Of those that are ready. */
  readonly addresses: readonly string[]
  readonly ports: readonly Readonly<Record<string, unknown>>[]
}

/** From slices, and from Endpoints: no controller here makes one of the other. */
function endpointsOf(
  { store, registry }: Pick<World, 'store' | 'registry'>,
  namespace: string,
  name: string,
): Endpoints[] {
  const slices = registry.find('discovery.k8s.io', 'endpointslices')
  const sliced = [...(slices ? listObjects(store, slices, namespace) : [])]
    .filter(({ metadata }) => metadata.labels?.['kubernetes.io/service-name'] === name)
    .map(slice => ({
      addresses: items(slice.endpoints)
        .filter(endpoint => part(endpoint, 'conditions')?.ready !== false)
        .flatMap(endpoint => texts(endpoint.addresses)),
      ports: items(slice.ports),
    }))
  const plain = registry.find('', 'endpoints')
  const object = plain && getObject(store, plain, namespace, name)
  const subsets = items(object?.subsets).map(subset => ({
    addresses: items(subset.addresses).map(address => text(address.ip)),
    ports: items(subset.ports),
  }))
  return [...sliced, ...subsets]
}
