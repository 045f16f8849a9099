// What keeps the ground under a migration network that is in use.

import { describe, expect, test } from 'vitest'
import { describeFaults } from '../../../admission/fault.ts'
import type { KubeObject } from '../../../kube/object.ts'
import type { MigrationFacts } from '../facts.ts'
import { createCaches } from '../world.ts'
import { keepAttachment, keepMachinesOff, keepVlanConfig } from './guards.ts'

const cn = 'migration'
const network = 'vm-migration-network-0123456789'

const aVlanConfig = (name: string, nodes: readonly string[]): KubeObject => ({
  apiVersion: 'network.harvesterhci.io/v1beta1',
  kind: 'VlanConfig',
  metadata: {
    name,
    labels: { 'network.harvesterhci.io/clusternetwork': cn },
    annotations: { 'network.harvesterhci.io/matched-nodes': JSON.stringify(nodes) },
  },
})

function factsOf({ used = network, configs = [] as readonly KubeObject[] } = {}): MigrationFacts {
  const caches = createCaches(true)
  const value = JSON.stringify({ clusterNetwork: cn, vlan: 100, range: '10.1.2.0/24' })
  const witness = { 'node-role.harvesterhci.io/witness': 'true' }
  caches.settings.replace([{ metadata: { name: 'vm-migration-network' }, value } as unknown as KubeObject], '1')
  caches.nodes.replace(
    [
      { metadata: { name: 'n1' } },
      { metadata: { name: 'n2' } },
      { metadata: { name: 'w', labels: witness } },
    ] as KubeObject[],
    '1',
  )
  caches.vlanConfigs.replace([...configs], '1')
  const object = { apiVersion: '', kind: '', metadata: {} }
  const kubeVirt = { namespace: 'harvester-system', name: 'kubevirt', network: used, whyNotReady: undefined, object }
  return { caches, spaces: () => [], kubeVirt: () => kubeVirt, pendingChange: () => undefined }
}

describe('the NetworkAttachmentDefinition of the migration network', () => {
  const remove = (namespace: string, name: string, used?: string) =>
    keepAttachment({ namespace, name }, factsOf(used === undefined ? {} : { used }))

  test('is not deleted while KubeVirt uses it', () => {
    expect(remove('harvester-system', network)).toMatchObject({
      kind: 'refused',
      message: expect.stringContaining(
        `cannot delete NetworkAttachmentDefinition harvester-system/${network} which is used by Harvester setting vm-migration-network`,
      ),
    })
  })

  test('is deleted when it is not used, and so is one of the same name elsewhere', () => {
    expect(remove('harvester-system', 'vm-migration-network-other').kind).toBe('allowed')
    expect(remove('team-a', network).kind).toBe('allowed')
    expect(remove('harvester-system', network, '').kind).toBe('allowed')
  })

  test('is not guarded where an administrator named a network of their own', () => {
    expect(remove('harvester-system', 'own', 'own').kind).toBe('allowed')
  })
})

describe('a virtual machine', () => {
  const machine = (...names: readonly string[]) => ({
    spec: {
      template: {
        spec: { networks: [{ name: 'a', pod: {} }, ...names.map(networkName => ({ multus: { networkName } }))] },
      },
    },
  })
  const judge = (next: object, old?: object, namespace = 'team-a') => {
    const ruling = keepMachinesOff({ old, next, namespace }, factsOf())
    return ruling.kind === 'invalid' ? describeFaults(ruling.faults) : ruling.kind
  }

  test('does not get onto the migration network, when it is made nor by hot-plug', () => {
    const wrong = `spec.template.spec.networks[2].multus.networkName: Forbidden: harvester-system/${network} is the network of live migrations, and its addresses are for nodes: name another one`
    expect(judge(machine('vlan7', `harvester-system/${network}`))).toBe(wrong)
    expect(judge(machine('vlan7', `harvester-system/${network}`), machine('vlan7'))).toBe(wrong)
    expect(judge(machine(network), undefined, 'harvester-system')).toContain('Forbidden')
  })

  test('that is on it already can be changed in everything else', () => {
    const stuck = machine(`harvester-system/${network}`)
    expect(judge(stuck, stuck)).toBe('allowed')
  })

  test.each<[string, object]>([
    ['of its own namespace', machine(network)],
    ['of another name', machine('harvester-system/storage')],
    ['of nothing', {}],
    ['of nonsense', { spec: { template: { spec: { networks: [7, { multus: 7 }, { multus: { networkName: 7 } }] } } } }],
  ])('may have networks %s', (_, next) => expect(judge(next)).toBe('allowed'))
})

describe('a VlanConfig under the migration network', () => {
  const [one, two] = [aVlanConfig('one', ['n1', 'w']), aVlanConfig('two', ['n2'])]
  const judge = (old: KubeObject, next?: KubeObject, facts = factsOf({ configs: [one, two] })) =>
    keepVlanConfig({ old, next }, facts)

  test('is neither deleted nor taken off a node', () => {
    for (const next of [undefined, aVlanConfig('one', [])]) {
      expect(judge(one, next)).toMatchObject({
        kind: 'refused',
        message: expect.stringMatching(
          /^the system network nad harvester-system\/vm-migration-network-\w+ is still attached, on n1: /,
        ),
      })
    }
  })

  test('may go where another one has its nodes, and where no node loses anything but a witness', () => {
    expect(judge(one, undefined, factsOf({ configs: [one, two, aVlanConfig('three', ['n1'])] })).kind).toBe('allowed')
    expect(judge(one, aVlanConfig('one', ['n1'])).kind).toBe('allowed')
  })

  test('may go while migrations use the management network, or another cluster network', () => {
    expect(judge(one, undefined, factsOf({ used: '', configs: [one, two] })).kind).toBe('allowed')
    const other = {
      ...one,
      metadata: { ...one.metadata, labels: { 'network.harvesterhci.io/clusternetwork': 'other' } },
    }
    expect(judge(other).kind).toBe('allowed')
  })
})
