import { describe, expect, test } from 'vitest'
import { orThrow } from '../../test/harness/or-throw.ts'
import { isMalformed } from '../ip/malformed.ts'
import { claimNameOf, controllingMachine, hasInstance, ownerReferenceTo, parseMachine } from './machine.ts'
import { parseControlPlaneMachineSet, parseMachineSet } from './machine-set.ts'
import { hasStaticNetwork, poolReferenceOfEntry } from './vsphere-provider-spec.ts'

const value = (devices: unknown, more: object = {}) => ({
  apiVersion: 'machine.openshift.io/v1beta1',
  kind: 'VSphereMachineProviderSpec',
  network: { devices },
  ...more,
})

const machine = (providerSpec: unknown, status: object = {}) => ({
  apiVersion: 'machine.openshift.io/v1beta1',
  kind: 'Machine',
  metadata: { name: 'm-0', namespace: 'openshift-machine-api', uid: 'u1' },
  spec: { providerSpec: { value: providerSpec } },
  status,
})

const specOf = (providerSpec: unknown) => {
  const parsed = orThrow(parseMachine(machine(providerSpec))).providerSpec
  if (parsed === undefined) throw new Error('read as a Machine of another platform')
  return orThrow(parsed)
}

describe('a Machine', () => {
  test('is read with its devices, their addresses and pools, and where the virtual machine is to be', () => {
    const spec = specOf(
      value(
        [
          {
            networkName: 'lab',
            gateway: '10.0.0.1',
            ipAddrs: ['10.0.0.5/24'],
            nameservers: ['10.0.0.2'],
            addressesFromPools: [{ group: 'installer.openshift.io', resource: 'IPPool', name: 'default-0' }],
          },
          { networkName: 'storage' },
        ],
        { numCPUs: 4, memoryMiB: 16384, template: 't', workspace: { server: 'vc', datacenter: 'dc' } },
      ),
    )
    expect(spec.devices[0]).toEqual({
      networkName: 'lab',
      gateway: '10.0.0.1',
      ipAddrs: ['10.0.0.5/24'],
      nameservers: ['10.0.0.2'],
      addressesFromPools: [{ group: 'installer.openshift.io', resource: 'IPPool', name: 'default-0' }],
    })
    expect(spec.devices[1]).toMatchObject({ networkName: 'storage', ipAddrs: [], addressesFromPools: [] })
    expect(spec).toMatchObject({ numCPUs: 4, memoryMiB: 16384, template: 't', workspace: { server: 'vc' } })
    expect(hasStaticNetwork(spec)).toBe(true)
  })

  test('says nothing of addresses while its devices say nothing but their network', () => {
    expect(hasStaticNetwork(specOf(value([{ networkName: 'lab' }])))).toBe(false)
    expect(hasStaticNetwork(specOf(value([{ networkName: 'lab', nameservers: ['10.0.0.2'] }])))).toBe(true)
  })

  test('of another platform, or without a provider spec, has none of vSphere', () => {
    expect(orThrow(parseMachine(machine({ kind: 'AWSMachineProviderConfig' }))).providerSpec).toBeUndefined()
    expect(orThrow(parseMachine(machine(undefined))).providerSpec).toBeUndefined()
  })

  test('with a provider spec that cannot be read is still a Machine, and says every fault with its path', () => {
    const parsed = orThrow(parseMachine(machine(value([{ networkName: 7, ipAddrs: '10.0.0.5/24' }]))))
    expect(isMalformed(parsed.providerSpec) && parsed.providerSpec.malformed).toBe(
      'providerSpec.network.devices[0].networkName is 7 where a text belongs; providerSpec.network.devices[0].ipAddrs is not a list of texts',
    )
  })

  test('with a provider status that another program broke is read as one without', () => {
    const parsed = orThrow(
      parseMachine(machine(value([]), { providerStatus: { conditions: [{ status: 4 }], instanceId: [] } })),
    )
    const none = { instanceId: '', instanceState: '', taskRef: '', cloneOrderedAt: '', conditions: [] }
    expect(parsed.providerStatus).toEqual(none)
    expect(hasInstance(parsed)).toBe(false)
  })

  test('was ordered at vSphere once it has an id, a task, an order or a provider id', () => {
    const at = (status: object) => hasInstance(orThrow(parseMachine(machine(value([]), { providerStatus: status }))))
    expect([at({}), at({ instanceId: 'i' }), at({ taskRef: 'task-1' })]).toEqual([false, true, true])
    expect(at({ cloneOrderedAt: '2026-01-01T00:00:00Z' })).toBe(true)
  })

  test('names its claims by device and pool, and is found again as their controller', () => {
    const parsed = orThrow(parseMachine(machine(value([]))))
    expect(claimNameOf('m-0', 1, 2)).toBe('m-0-claim-1-2')
    const owner = ownerReferenceTo(parsed)
    expect(owner).toMatchObject({
      apiVersion: 'machine.openshift.io/v1beta1',
      controller: true,
      blockOwnerDeletion: true,
    })
    expect(controllingMachine({ ownerReferences: [owner] })).toBe(owner)
    expect(controllingMachine({ ownerReferences: [{ ...owner, controller: false }] })).toBeUndefined()
    expect(
      controllingMachine({ ownerReferences: [{ ...owner, apiVersion: 'cluster.x-k8s.io/v1beta1' }] }),
    ).toBeUndefined()
  })

  test('gives a claim the pool that the entry names, with the resource as it is written', () => {
    const from = { group: 'machine.openshift.io', resource: 'ippools', name: 'example-pool' }
    expect(poolReferenceOfEntry(from)).toEqual({
      apiGroup: 'machine.openshift.io',
      kind: 'ippools',
      name: 'example-pool',
    })
  })
})

test('a MachineSet and a ControlPlaneMachineSet are read with the provider spec of their template', () => {
  const spec = { providerSpec: { value: value([{ networkName: 'lab' }]) } }
  const metadata = { name: 's', namespace: 'n' }
  const set = orThrow(parseMachineSet({ metadata, spec: { replicas: 2, template: { spec } } }))
  expect(set).toMatchObject({ replicas: 2, providerSpec: { devices: [{ networkName: 'lab' }] } })
  const template = {
    machines_v1beta1_machine_openshift_io: { spec, failureDomains: { vsphere: [{ name: 'fd-2' }, { name: 'fd-3' }] } },
  }
  const controlPlane = orThrow(
    parseControlPlaneMachineSet({ metadata, spec: { replicas: 3, state: 'Active', template } }),
  )
  expect(controlPlane).toMatchObject({
    replicas: 3,
    isActive: true,
    failureDomains: ['fd-2', 'fd-3'],
    providerSpec: { devices: [{ networkName: 'lab' }] },
  })
})
