// Hands on the machines of the simulated vCenter, over its own API: cards are added, and what VMware Tools would see inside a
// guest is set. The simulator takes `SET.<path>` in the extra configuration for the value of that property.

import { readVSphere } from '../../src/sources/vsphere.ts'
import type { VSphereClient } from '../../src/vsphere/client.ts'
import { collect } from '../../src/vsphere/collect.ts'
import { type ManagedRef, readRef, toRef, type VimFields, type VimValue } from '../../src/vsphere/value.ts'

async function reconfigure(client: VSphereClient, vm: ManagedRef, spec: VimFields): Promise<void> {
  await runTask(client, 'ReconfigVM_Task', vm, { spec: { fields: spec } })
}

export async function runTask(client: VSphereClient, method: string, of: ManagedRef, args: VimFields = {}) {
  const [task] = await client.call(method, of, args)
  const ref = readRef(task)
  if (ref === undefined) throw new Error(`${method} answers no task`)
  return client.waitForTask(ref)
}

export async function setProperty(client: VSphereClient, vm: ManagedRef, path: string, value: VimValue): Promise<void> {
  await reconfigure(client, vm, { extraConfig: { type: 'OptionValue', of: { key: `SET.${path}`, value } } })
}

export const listOf = (type: string, items: VimFields[]): VimValue => ({
  type: `ArrayOf${type}`,
  of: { [type]: items.map(fields => ({ fields })) },
})

export interface GuestNIC {
  readonly mac: string
  readonly key: number
  /** `10.0.0.5/24 manual`. */
  readonly addresses?: readonly string[]
  readonly flat?: readonly string[]
  readonly dns?: readonly string[]
}

export async function setGuestNICs(client: VSphereClient, vm: ManagedRef, nics: readonly GuestNIC[]): Promise<void> {
  const items = nics.map(({ mac, key, addresses, flat = [], dns }) => ({
    ipAddress: [...flat],
    macAddress: mac,
    connected: true,
    deviceConfigId: key,
    dnsConfig: dns && { fields: { dhcp: false, hostName: '', domainName: '', ipAddress: [...dns] } },
    ipConfig: addresses && {
      fields: {
        ipAddress: addresses.map(text => {
          const [ipAddress = '', prefixLength = '', origin = ''] = text.split(/[/ ]/)
          return { fields: { ipAddress, prefixLength, origin, state: 'preferred' } }
        }),
      },
    },
  }))
  await setProperty(client, vm, 'guest.net', listOf('GuestNicInfo', items))
}

/** `0.0.0.0/0 via 10.0.0.1 on 0`. */
export async function setRoutes(client: VSphereClient, vm: ManagedRef, routes: readonly string[]): Promise<void> {
  const ipRoute = routes.map(text => {
    const [network = '', prefixLength = '', , ipAddress = '', , device = ''] = text.split(/[/ ]/)
    return { fields: { network, prefixLength, gateway: { fields: { ipAddress, device } } } }
  })
  await setProperty(client, vm, 'guest.ipStack', listOf('GuestStackInfo', [{ ipRouteConfig: { fields: { ipRoute } } }]))
}

export async function addCard(
  client: VSphereClient,
  vm: ManagedRef,
  { mac, network, startConnected = true }: { mac: string; network: string; startConnected?: boolean },
): Promise<void> {
  const connectable = { startConnected, allowGuestControl: true, connected: startConnected }
  const device = {
    key: -1,
    backing: { type: 'VirtualEthernetCardNetworkBackingInfo', of: { deviceName: network } },
    connectable: { fields: connectable },
    addressType: 'manual',
    macAddress: mac,
  }
  await reconfigure(client, vm, {
    deviceChange: {
      type: 'VirtualDeviceConfigSpec',
      of: { operation: 'add', device: { type: 'VirtualVmxnet3', of: device } },
    },
  })
}

export async function machineNamed(client: VSphereClient, name: string): Promise<ManagedRef> {
  const found = await collect(client, [{ type: 'VirtualMachine', paths: ['name'] }])
  const object = found.find(({ properties }) => properties.get('name')?.text === name)
  if (object === undefined) throw new Error(`there is no machine ${name}`)
  return object.ref
}

export async function readOne(client: VSphereClient, vm: ManagedRef) {
  const { machines } = await readVSphere(client, { asOf: '2030-01-01T00:00:00Z' })
  const machine = machines.find(({ id }) => isSame(vm, toRef('VirtualMachine', id)))
  if (machine === undefined) throw new Error(`${vm.ref.value} is not among the machines`)
  return machine
}

const isSame = (one: ManagedRef, other: ManagedRef): boolean => one.ref.value === other.ref.value
