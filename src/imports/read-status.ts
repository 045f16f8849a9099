// What the status of an import is made of, read from an API server.

import { parseIPAMClaim } from '../api/ipam-claim.ts'
import { childOf, shapeOf, shapesOf, textOf, textsOf } from '../api/shape.ts'
import { parseVirtualMachine } from '../api/virtual-machine.ts'
import { ipamClaims, virtualMachineInstances, virtualMachines } from '../controllers/vm/kinds.ts'
import { isMalformed, type Malformed } from '../ip/malformed.ts'
import type { Client } from '../kube/client.ts'
import { type EventObject, events } from '../kube/events.ts'
import { type KubeObject, keyOf } from '../kube/object.ts'
import type { ImportedObjects, ShownEvent, ShownInstance } from './status.ts'

/** Of one namespace. */
export async function readImported(client: Client, namespace: string): Promise<ImportedObjects> {
  const place = { namespace }
  return {
    machines: read((await client.list(virtualMachines, place)).items, parseVirtualMachine),
    instances: (await client.list(virtualMachineInstances, place)).items.map(toInstance),
    claims: read((await client.list(ipamClaims, place)).items, parseIPAMClaim),
    events: (await client.list(events, place)).items.map(toEvent),
  }
}

function read<T>(objects: readonly KubeObject[], parse: (object: unknown) => T | Malformed): T[] {
  return objects.map(object => parse(object)).flatMap(one => (isMalformed(one) ? [] : [one]))
}

function toInstance(object: KubeObject): ShownInstance {
  const status = childOf(shapeOf(object, '', []), 'status')
  return {
    key: keyOf(object),
    phase: textOf(status, 'phase') ?? '',
    interfaces: shapesOf(status, 'interfaces').map(one => {
      const [ip, ips] = [textOf(one, 'ipAddress'), textsOf(one, 'ipAddresses')]
      return {
        name: textOf(one, 'name') ?? '',
        mac: textOf(one, 'mac') ?? '',
        ips: ips.length > 0 || ip === undefined || ip === '' ? ips : [ip],
      }
    }),
  }
}

function toEvent(event: EventObject): ShownEvent {
  const root = shapeOf(event, '', [])
  const about = childOf(root, 'regarding')
  return {
    about: `${textOf(about, 'kind') ?? ''} ${textOf(about, 'namespace') ?? ''}/${textOf(about, 'name') ?? ''}`,
    type: event.type ?? '',
    reason: event.reason ?? '',
    note: event.note ?? '',
    at: event.series?.lastObservedTime ?? event.eventTime ?? event.metadata.creationTimestamp ?? '',
  }
}
