// Launcher pods on their way in: which of their network selection elements name a claim.

import { describe, expect, test } from 'vitest'
import { orThrow } from '../../../../test/harness/or-throw.ts'
import { admissionReview, ask, patchIn } from '../../../../test/harness/webhooks.ts'
import {
  aClaim,
  aPodObject,
  aVMIObject,
  type MachineParts,
  type NetworkText,
  type PodParts,
  StubNetworks,
} from '../../../../test/vm/builders.ts'
import { networkOf } from '../../../../test/vm/networks.ts'
import type { IPAMClaim } from '../../../api/ipam-claim.ts'
import type { Pool } from '../../../api/pool.ts'
import { parseIP } from '../../../ip/address.ts'
import type { KubeObject } from '../../../kube/object.ts'
import { everything, type Scope } from '../../office/scope.ts'
import { createViews } from '../../office/views.ts'
import { claimName, movedClaimName } from '../claims/names.ts'
import { vmFacts } from '../facts.ts'
import { createCaches } from '../world.ts'
import { vmWebhooks } from './webhooks.ts'

const [webhook] = vmWebhooks as [(typeof vmWebhooks)[number]]
const networksKey = 'k8s.v1.cni.cncf.io/networks'
const networksPath = '/metadata/annotations/k8s.v1.cni.cncf.io~1networks'
const defaultPath = '/metadata/annotations/v1.multus-cni.io~1default-network'
const primaryPath = '/metadata/annotations/k8s.ovn.org~1primary-udn-ipamclaim'

interface Sight {
  readonly pod?: PodParts
  /** Other than by its parts: fields of metadata. */
  readonly metadata?: object
  readonly vmi?: MachineParts | 'none' | 'unseen'
  readonly nads?: Readonly<Record<string, NetworkText>>
  /** There, and not in view yet. */
  readonly unseen?: readonly string[]
  readonly primary?: string
  readonly claims?: readonly IPAMClaim[]
  readonly operation?: 'CREATE' | 'UPDATE'
  readonly scope?: Scope
  readonly pools?: readonly Pool[]
}

const nads = { 'lab/net1': 'net1', 'lab/net2': 'net2', 'lab/blue': 'blue' }

async function answerTo({
  pod,
  metadata,
  vmi = {},
  unseen = [],
  primary,
  claims = [],
  operation,
  scope = everything,
  ...sight
}: Sight) {
  const asked: string[] = []
  const caches = createCaches(true, createViews(true))
  const instance =
    vmi === 'none' ? undefined : aVMIObject({ uid: 'vmi-1', of: 'vm-1', ...(vmi === 'unseen' ? {} : vmi) })
  caches.vmis.replace(instance === undefined || vmi === 'unseen' ? [] : [instance], '1')
  caches.claims.replace(claims as unknown as readonly KubeObject[], '1')
  caches.pods.replace([], '1')
  const primaries = primary === undefined ? {} : { lab: primary }
  const networks = new StubNetworks({ ...nads, ...sight.nads }, primaries, sight.pools)
  const get = async ({ kind }: { kind: string }, { namespace, name }: { namespace?: string; name: string }) => {
    asked.push(`${kind} ${namespace}/${name}`)
    if (kind === 'VirtualMachineInstance') return instance
    return unseen.includes(`${namespace}/${name}`) ? { metadata: { name } } : undefined
  }
  const object = aPodObject(pod) as KubeObject & { metadata: object }
  const next = { ...object, metadata: { ...object.metadata, ...metadata } }
  const body = admissionReview({
    operation: operation ?? 'CREATE',
    namespace: 'lab',
    object: next,
    ...(operation === 'UPDATE' && { oldObject: aPodObject() }),
  })
  // biome-ignore lint/suspicious/noExplicitAny: the client's get is generic
  const facts = () => vmFacts({ client: { get: get as any }, caches, networks, scope })
  const { response } = await ask(body, { webhook, facts })
  const patch = (response.patch === undefined ? [] : patchIn({ response } as never)) as {
    path: string
    value: string
  }[]
  const networksText = patch.find(({ path }) => path === networksPath)?.value
  return {
    ...response,
    asked,
    patch,
    elements: networksText === undefined ? undefined : (JSON.parse(networksText) as object[]),
    primary: patch.find(({ path }) => path === primaryPath)?.value,
    defaultNetwork: patch.find(({ path }) => path === defaultPath)?.value,
  }
}

const onNet1 = { name: 'net1', namespace: 'lab', interface: 'pod6c270ef2f25', mac: '02:00:00:00:00:01' }
const onNet2 = { name: 'net2', namespace: 'lab', interface: 'pod2daa9a9645f' }
const named = (element: object, claim: string) => ({ ...element, 'ipam-claim-reference': claim })

describe('A launcher pod', () => {
  test('3: on a network with persistent addresses is told its claim, and nothing else changes', async () => {
    const { elements, patch, asked } = await answerTo({ pod: { networks: [onNet1] } })
    expect(elements).toEqual([named(onNet1, 'vm1.net1')])
    expect(patch).toHaveLength(1)
    expect(asked).toEqual([])
  })

  test('has no name yet when KubeVirt makes it', async () => {
    const { elements } = await answerTo({
      pod: { networks: [onNet1] },
      metadata: { name: undefined, generateName: 'virt-launcher-vm1-' },
    })
    expect(elements).toEqual([named(onNet1, 'vm1.net1')])
  })

  test('2: of no virtual machine is let in as it is', async () => {
    const annotations = { [networksKey]: JSON.stringify([onNet1]) }
    const { allowed, patch } = await answerTo({ metadata: { annotations } })
    expect({ allowed, patch }).toEqual({ allowed: true, patch: [] })
  })

  test('with networks by commas is told its claims in JSON', async () => {
    const { elements } = await answerTo({ pod: { networks: 'net1@pod6c270ef2f25, other/thing' } })
    expect(elements).toEqual([
      { name: 'net1', namespace: 'lab', interface: 'pod6c270ef2f25', 'ipam-claim-reference': 'vm1.net1' },
      { name: 'thing', namespace: 'other' },
    ])
  })

  test('with networks by commas that have no claim keeps them as they are', async () => {
    const { patch } = await answerTo({ pod: { networks: 'net1' }, nads: { 'lab/net1': '!net1' } })
    expect(patch).toEqual([])
  })

  test.each<[string, NetworkText]>([
    ['9: without persistent addresses', '!net1'],
    ['of another CNI', 'foreign'],
    ['that is refused', 'refused'],
  ])('on a network %s is let in as it is', async (_, network) => {
    const { allowed, patch } = await answerTo({ pod: { networks: [onNet1] }, nads: { 'lab/net1': network } })
    expect({ allowed, patch }).toEqual({ allowed: true, patch: [] })
  })

  test.each(['[{', '{"name":"net1"}', '[{"namespace":"lab"}]', 'a/b/c', '[1]'])(
    '10: is refused with a sentence if its networks are %s',
    async networks => {
      const { allowed, status } = await answerTo({ pod: { networks } })
      expect(allowed).toBe(false)
      expect(status).toMatchObject({ code: 400 })
      expect(status?.message).toMatch(/^the annotation k8s\.v1\.cni\.cncf\.io\/networks cannot be read: .+/)
    },
  )

  test('H11, H12, 11: whose other network is not there is told the claims of the rest', async () => {
    const gone = { name: 'gone', namespace: 'lab', interface: 'poda', 'cni-args': { x: 1 } }
    const { elements, asked } = await answerTo({
      pod: { networks: [{ ...onNet2, name: 'gone' }, gone, onNet1] },
      vmi: { interfaces: ['net2:gone', 'net1'] },
      nads: { 'lab/broken': 'refused', 'lab/other': 'foreign' },
    })
    expect(elements).toEqual([{ ...onNet2, name: 'gone' }, gone, named(onNet1, 'vm1.net1')])
    expect(asked).toEqual(['NetworkAttachmentDefinition lab/gone'])
  })

  test('H10: on a NetworkAttachmentDefinition that was made a moment ago is to be made again', async () => {
    const { allowed, status } = await answerTo({
      pod: { networks: [{ ...onNet1, name: 'new' }] },
      vmi: { interfaces: ['net1:new'] },
      unseen: ['lab/new'],
    })
    expect(allowed).toBe(false)
    expect(status?.message).toBe('the NetworkAttachmentDefinition lab/new was made a moment ago: try again')
  })

  test('H13: with two interfaces on one network has a claim for each, in any order', async () => {
    const second = { ...onNet2, name: 'net1' }
    const { elements } = await answerTo({
      pod: { networks: [second, onNet1] },
      vmi: { interfaces: ['net1', 'net2:net1'] },
    })
    expect(elements).toEqual([named(second, 'vm1.net2'), named(onNet1, 'vm1.net1')])
  })

  test('with ordinal names of interfaces has the claims in the order of its networks', async () => {
    const element = { name: 'net1', namespace: 'lab' }
    const networks = [
      { ...element, interface: 'net1' },
      { ...element, 'cni-args': { logicNetworkName: 'first' } },
      { ...element, interface: 'net2' },
    ]
    const { elements } = await answerTo({
      pod: { networks },
      vmi: { interfaces: ['zero:net1', 'first:net1', 'second:net1'], absent: ['zero'] },
    })
    expect(elements).toEqual([
      named(networks[0] ?? {}, 'vm1.first'),
      networks[1],
      named(networks[2] ?? {}, 'vm1.second'),
    ])
  })

  test('of a virtual machine that this process makes no claims for is let in as it is', async () => {
    for (const scope of [
      { ...everything, namespace: 'other' },
      { ...everything, watchFilter: 'mine' },
    ]) {
      const { allowed, patch } = await answerTo({ pod: { networks: [onNet1] }, scope })
      expect({ allowed, patch }).toEqual({ allowed: true, patch: [] })
    }
  })

  test('12: without networks is let in, and its instance is not asked for', async () => {
    const { allowed, patch, asked } = await answerTo({ vmi: 'none' })
    expect({ allowed, patch, asked }).toEqual({ allowed: true, patch: [], asked: [] })
  })

  test('whose instance was made a moment ago waits for the answer of the API server', async () => {
    const { elements, asked } = await answerTo({ pod: { networks: [onNet1] }, vmi: 'unseen' })
    expect(elements).toEqual([named(onNet1, 'vm1.net1')])
    expect(asked).toEqual(['VirtualMachineInstance lab/vm1'])
  })

  test('13: whose instance is not there is refused', async () => {
    const { allowed, status } = await answerTo({ pod: { networks: [onNet1] }, vmi: 'none' })
    expect(allowed).toBe(false)
    expect(status?.message).toMatch(/no VirtualMachineInstance "vm1" in the namespace of the pod lab\/virt-launcher/)
  })

  test('that a stranger made up hears nothing of a machine whose uid it does not know', async () => {
    const made = { pod: { networks: [onNet1], instance: 'guessed' } }
    const unknown = await answerTo({ ...made, vmi: 'none' })
    const known = await answerTo(made)
    expect(known.allowed).toBe(false)
    expect(known.status).toEqual(unknown.status)
  })

  test('that ends after its instance can still be written', async () => {
    const { allowed } = await answerTo({ pod: { networks: [onNet1] }, vmi: 'none', operation: 'UPDATE' })
    expect(allowed).toBe(true)
  })

  test('that names a claim keeps it, and so does another asking', async () => {
    const { patch } = await answerTo({ pod: { networks: [named(onNet1, 'mine')] } })
    expect(patch).toEqual([])
  })

  test('that names a claim in one of its networks keeps it, and is told the others', async () => {
    const { elements } = await answerTo({
      pod: { networks: [named(onNet1, 'mine'), onNet2] },
      vmi: { interfaces: ['net1', 'net2'] },
    })
    expect(elements).toEqual([named(onNet1, 'mine'), named(onNet2, 'vm1.net2')])
  })

  test('whose networks are written anew is told its claims again', async () => {
    const { elements } = await answerTo({
      pod: { networks: [onNet1, onNet2] },
      vmi: { interfaces: ['net1', 'net2'] },
      operation: 'UPDATE',
    })
    expect(elements).toEqual([named(onNet1, 'vm1.net1'), named(onNet2, 'vm1.net2')])
  })

  test('39: is told the name that was made for an interface whose name folds', async () => {
    const element = { name: 'net1', namespace: 'lab', interface: 'net1' }
    const { elements } = await answerTo({ pod: { networks: [element] }, vmi: { interfaces: ['random_net:net1'] } })
    expect(elements).toEqual([named(element, claimName('vm1', 'random_net'))])
  })

  test('is told the claim of ipam-extensions where there is one', async () => {
    const element = { name: 'net1', namespace: 'lab', interface: 'net1' }
    const { elements } = await answerTo({
      pod: { networks: [element] },
      vmi: { interfaces: ['random_net:net1'] },
      claims: [aClaim({ name: 'vm1.random.net', interface: '', attachment: '' })],
    })
    expect(elements).toEqual([named(element, 'vm1.random.net')])
  })

  test('H5: that comes after its interface was moved has the claim on the new network', async () => {
    const element = { ...onNet1, name: 'blue' }
    const { elements } = await answerTo({
      pod: { networks: [element] },
      // The instance that is in view may still be the old one.
      vmi: { interfaces: ['net1'] },
      claims: [aClaim()],
    })
    expect(elements).toEqual([named(element, movedClaimName('vm1', 'net1', 'lab/blue', 'blue'))])
  })
})

describe('A launcher pod in a namespace with a primary network', () => {
  const sight: Sight = {
    vmi: { interfaces: ['podnet:pod'] },
    nads: { 'lab/primary': 'cluster_udn_p' },
    primary: 'lab/primary',
  }

  test('5: is told the claim in the annotation of OVN-Kubernetes', async () => {
    const { primary, patch } = await answerTo(sight)
    expect(primary).toBe('vm1.podnet')
    expect(patch).toHaveLength(1)
  })

  test('has nothing to be told if its network has no persistent addresses', async () => {
    expect((await answerTo({ ...sight, nads: { 'lab/primary': '!p' } })).patch).toEqual([])
  })

  test('has nothing to be told if its machine is not on the pod network', async () => {
    expect((await answerTo({ ...sight, vmi: { interfaces: [] } })).patch).toEqual([])
  })

  test('is not told again when it is written', async () => {
    expect((await answerTo({ ...sight, operation: 'UPDATE' })).patch).toEqual([])
  })
})

describe('A launcher pod on a primary network whose machine asks for something', () => {
  const card = '02:00:00:00:00:05'
  const { pools } = networkOf({ name: 'p', subnets: ['10.0.0.0/24', 'fd00::/64'], gateways: ['10.0.0.1'] })
  const sight = (vmi: MachineParts, more: Sight = {}): Sight => ({
    vmi: { interfaces: ['podnet:pod'], ...vmi },
    nads: { 'lab/primary': 'p' },
    primary: 'lab/primary',
    pools,
    ...more,
  })
  const element = (more: object) =>
    JSON.stringify([{ name: 'default', namespace: 'ovn-kubernetes', ...more, 'ipam-claim-reference': 'vm1.podnet' }])
  const carrying = (text: string) => ({
    metadata: { annotations: { 'kubevirt.io/domain': 'vm1', 'v1.multus-cni.io/default-network': text } },
  })

  test.each<[string, MachineParts, object]>([
    ['7: the MAC of its interface', { macs: { podnet: card } }, { mac: card }],
    ['addresses, with the length of the subnet', { addresses: { podnet: ['10.0.0.5'] } }, { ips: ['10.0.0.5/24'] }],
    ['18: an IPv6 address', { addresses: { podnet: ['FD00::5'] } }, { ips: ['fd00::5/64'] }],
    [
      'both families and the MAC',
      { addresses: { podnet: ['fd00::5', '10.0.0.5'] }, macs: { podnet: card } },
      { ips: ['10.0.0.5/24', 'fd00::5/64'], mac: card },
    ],
    ['23: IPv4 in the form of IPv6', { addresses: { podnet: ['::ffff:10.0.0.5'] } }, { ips: ['10.0.0.5/24'] }],
  ])('is told %s in the annotation of the default network', async (_, vmi, more) => {
    const { defaultNetwork, primary } = await answerTo(sight(vmi))
    expect(defaultNetwork).toBe(element(more))
    expect(primary).toBe('vm1.podnet')
  })

  test('V12: is told what its claim was made with, before there was a machine', async () => {
    const claims = [
      aClaim({
        name: 'vm1.podnet',
        network: 'p',
        attachment: '',
        interface: '',
        asks: { ips: ['10.0.0.5'], mac: card },
      }),
    ]
    const { defaultNetwork } = await answerTo(sight({}, { claims }))
    expect(defaultNetwork).toBe(element({ ips: ['10.0.0.5/24'], mac: card }))
  })

  test('is told what its claim has where that is something else', async () => {
    const claims = [
      aClaim({
        name: 'vm1.podnet',
        network: 'p',
        interface: 'eth0',
        attachment: '',
        ips: ['10.0.0.7/24', 'fd00::7/64'],
      }),
    ]
    const { defaultNetwork } = await answerTo(sight({ addresses: { podnet: ['10.0.0.5'] } }, { claims }))
    expect(defaultNetwork).toBe(element({ ips: ['10.0.0.7/24'] }))
  })

  test.each<[string, string, object]>([
    ['is told what an IPPool keeps for its MAC', 'lab/vm1/', { ips: ['10.0.0.6/24'], mac: card }],
    ['is told nothing of what is kept for another machine', 'lab/vm2/', { mac: card }],
    ['is told nothing of what is kept for another namespace', 'red/*/', { mac: card }],
  ])('%s', async (_, bound, more) => {
    const kept = new Map([[`${bound}${card}`, orThrow(parseIP('10.0.0.6'))]])
    const keeping = pools.map(pool => (pool.family === 4 ? { ...pool, reservations: kept } : pool))
    const { defaultNetwork } = await answerTo(sight({ macs: { podnet: card } }, { pools: keeping }))
    expect(defaultNetwork).toBe(element(more))
  })

  test('14: that brings another default network is refused', async () => {
    const { allowed, status } = await answerTo(sight({}, carrying('[{"name": "default", "ips": ["10.0.0.9/24"]}]')))
    expect(allowed).toBe(false)
    expect(status).toMatchObject({
      code: 403,
      message: 'multus default network annotation "v1.multus-cni.io/default-network" is not allowed on pod creation',
    })
  })

  test('15: that is written later is not asked about it, nor told again', async () => {
    const text = '[{"name": "default", "ips": ["10.0.0.9/24"]}]'
    const { allowed, patch } = await answerTo(
      sight({ macs: { podnet: card } }, { ...carrying(text), operation: 'UPDATE' }),
    )
    expect({ allowed, patch }).toEqual({ allowed: true, patch: [] })
  })

  test('that brings what its machine says is told the claim beside that, and no more', async () => {
    const [name, namespace] = ['default', 'openshift-ovn-kubernetes']
    const asked = { name, namespace, mac: '02:03:04:05:06:07', ips: ['10.0.0.5/24'], 'cni-args': { any: 1 } }
    const defaultNetwork = JSON.stringify([asked], null, 2)
    const found = await answerTo(sight({ defaultNetwork }, carrying(defaultNetwork)))
    const value = JSON.stringify([{ ...asked, 'ipam-claim-reference': 'vm1.podnet' }])
    expect(found.defaultNetwork).toBe(value)
    // Asked once more, because another webhook changed the pod.
    expect(await answerTo(sight({ defaultNetwork }, carrying(value)))).toMatchObject({
      allowed: true,
      defaultNetwork: undefined,
    })
  })

  test('that is asked about once more keeps what it was told', async () => {
    const first = await answerTo(sight({ macs: { podnet: card } }))
    const again = await answerTo(sight({ macs: { podnet: card } }, carrying(first.defaultNetwork ?? '')))
    expect(again).toMatchObject({ allowed: true, defaultNetwork: undefined })
  })

  test('in the place of which Multus puts another network is left alone', async () => {
    const vmi = { interfaces: ['net1'], isDefault: ['net1'] }
    const { allowed, patch } = await answerTo(sight(vmi, carrying('lab/net1')))
    expect({ allowed, patch }).toEqual({ allowed: true, patch: [] })
  })

  test.each<[string, MachineParts, RegExp]>([
    ['17: two addresses of one family', { addresses: { podnet: ['10.0.0.5', '10.0.0.6'] } }, /two addresses of IPv4/],
    ['20: no address', { addresses: { podnet: ['x'] } }, /addresses of interface "podnet": "x"/],
    [
      'an address of no subnet',
      { addresses: { podnet: ['10.1.0.5'] } },
      /10.1.0.5 is not among the addresses of Network p/,
    ],
    ['the gateway', { addresses: { podnet: ['10.0.0.1'] } }, /10.0.0.1 is the gateway of Network p: ask for another/],
    ['the address of the subnet', { addresses: { podnet: ['10.0.0.0'] } }, /10.0.0.0 is no address for a host/],
    [
      'another length',
      { addresses: { podnet: ['10.0.0.5/16'] } },
      /10.0.0.5\/16 has not the length of its subnet: write 10.0.0.5\/24/,
    ],
    ['the MAC of a group', { macs: { podnet: '01:00:5e:00:00:05' } }, /a group of cards/],
  ])('is refused, and the author told why: %s', async (_, vmi, words) => {
    const { allowed, status } = await answerTo(sight(vmi))
    expect(allowed).toBe(false)
    expect(status?.message).toMatch(words)
  })

  test('is refused a family that the network does not have', async () => {
    const { pools } = networkOf({ name: 'p', subnets: ['10.0.0.0/24'] })
    const { status } = await answerTo(sight({ addresses: { podnet: ['fd00::5'] } }, { pools }))
    expect(status?.message).toMatch(/fd00::5 is of IPv6, and the network has no subnet of it: leave it out/)
  })

  test('is let in with a request that its claim cannot follow any more', async () => {
    const claims = [
      aClaim({ name: 'vm1.podnet', network: 'p', interface: 'eth0', attachment: '', ips: ['10.0.0.7/24'] }),
    ]
    expect(await answerTo(sight({ addresses: { podnet: ['10.1.0.5'] } }, { claims }))).toMatchObject({ allowed: true })
  })

  test('is refused on another network of its machine too', async () => {
    const { status } = await answerTo({ pod: { networks: [onNet1] }, vmi: { addresses: { net1: ['x'] } } })
    expect(status?.message).toMatch(/what the interface "net1" asks for cannot be had/)
  })
})
