// The rules of the claims of a virtual machine, as a table: what was seen, and what is to be done about it.

import { describe, expect, test } from 'vitest'
import {
  aClaim,
  aClaimBeforehand,
  aPlainClaim,
  aPod,
  aVM,
  aVMI,
  type NetworkText,
  StubNetworks,
} from '../../../../test/vm/builders.ts'
import type { IPAMClaim } from '../../../api/ipam-claim.ts'
import type { LauncherPod } from '../../../api/launcher-pod.ts'
import { type AddressRequest, toRequestedText } from '../../../api/requests.ts'
import type { VirtualMachine, VirtualMachineInstance } from '../../../api/virtual-machine.ts'
import { wantedBy } from './belonging.ts'
import { claimName, movedClaimName, podInterfaceName } from './names.ts'
import { decide } from './plan.ts'

interface Sight {
  readonly vm?: VirtualMachine
  readonly vmi?: VirtualMachineInstance
  readonly pods?: readonly LauncherPod[]
  readonly claims?: readonly IPAMClaim[]
  readonly unreadable?: readonly string[]
  readonly nads?: Readonly<Record<string, NetworkText>>
  readonly primary?: string
  readonly name?: string
}

const nads = { 'lab/net1': 'net1', 'lab/blue': 'blue', 'lab/net2': 'net2' }

function planOf({ vm, vmi, pods = [], claims = [], unreadable = [], name = 'vm1', primary, ...sight }: Sight) {
  const networks = new StubNetworks({ ...nads, ...sight.nads }, primary === undefined ? {} : { lab: primary })
  return decide({
    name,
    vm,
    vmi,
    pods,
    claims,
    unreadable,
    wantedByVM: wantedBy(vm, 'lab', networks),
    wantedByVMI: wantedBy(vmi, 'lab', networks),
  })
}

/** What is written, in short. */
function done(sight: Sight): string[] {
  const { make, adopt, remove, waitsFor, owner } = planOf(sight)
  const kind = owner === undefined ? '' : 'activePods' in owner ? 'VMI' : 'VM'
  return [
    ...make.map(({ name, network }) => `${kind} makes ${name} on ${network}`),
    ...adopt.map(({ claim }) => `${kind} adopts ${claim.metadata.name}`),
    ...remove.map(({ metadata }) => `deletes ${metadata.name}`),
    ...waitsFor.map(one => `waits for ${one}`),
  ]
}

const using = (claim: string, more: object = {}) =>
  aPod({ networks: [{ name: 'net1', interface: 'pod6c270ef2f25', 'ipam-claim-reference': claim, ...more }] })

const ended = (claim: string) =>
  aPod({ networks: [{ name: 'net1', 'ipam-claim-reference': claim }], phase: 'Succeeded' })

const blueName = movedClaimName('vm1', 'net1', 'lab/blue', 'blue')

const rules: readonly (readonly [string, Sight, readonly string[]])[] = [
  // --- made ---
  ['a virtual machine that never ran gets a claim from its template', { vm: aVM() }, ['VM makes vm1.net1 on net1']],
  [
    '24: a running one gets a claim for each network, also in the place of the pod network',
    {
      vm: aVM({ interfaces: ['podnet:pod', 'net1'] }),
      vmi: aVMI({ of: 'vm-1', interfaces: ['podnet:pod', 'net1'] }),
      nads: { 'lab/primary': 'cluster_udn_p' },
      primary: 'lab/primary',
    },
    ['VM makes vm1.podnet on cluster_udn_p', 'VM makes vm1.net1 on net1'],
  ],
  ['38: a lone instance owns its claims', { vmi: aVMI() }, ['VMI makes vm1.net1 on net1']],
  [
    '25: a network that takes the place of the pod network by Multus has none',
    { vm: aVM({ isDefault: ['net1'] }) },
    [],
  ],
  ['a pod network that is the cluster’s own has none', { vm: aVM({ interfaces: ['podnet:pod'] }) }, []],
  ['a network without persistent addresses has none', { vm: aVM(), nads: { 'lab/net1': '!net1' } }, []],
  ['a network of another CNI has none', { vm: aVM(), nads: { 'lab/net1': 'foreign' } }, []],
  ['27: a NetworkAttachmentDefinition that is not there is waited for', { vm: aVM({ interfaces: ['net9'] }) }, []],
  [
    '27: and the other interfaces do not wait with it',
    { vm: aVM({ interfaces: ['net9', 'net1'] }) },
    ['VM makes vm1.net1 on net1'],
  ],
  [
    'H1, 39: names that fold to one are two claims',
    { vm: aVM({ interfaces: ['Net:net1', 'net:net1'] }) },
    [`VM makes ${claimName('vm1', 'Net')} on net1`, 'VM makes vm1.net on net1'],
  ],
  [
    'an instance of a replica set owns its claims',
    { vmi: aVMI({ of: 'rs-1', ofKind: 'VirtualMachineInstanceReplicaSet' }) },
    ['VMI makes vm1.net1 on net1'],
  ],
  ['an instance whose virtual machine is not in view yet is left alone', { vmi: aVMI({ of: 'vm-1' }) }, []],
  ['a virtual machine on its way out gets nothing', { vm: aVM({ isDeleting: true }) }, []],
  ['nor does a lone instance on its way out', { vmi: aVMI({ isDeleting: true }) }, []],
  ['28: nothing there, nothing done', {}, []],
  // --- kept ---
  ['36: a claim that is there is kept', { vm: aVM(), claims: [aClaim()] }, []],
  ['30: also while the machine is stopped', { vm: aVM(), claims: [aClaim({ ips: ['10.0.0.5/24'] })] }, []],
  [
    'a claim of ipam-extensions is kept under its name, and told its NetworkAttachmentDefinition',
    { vm: aVM({ interfaces: ['net_1:net1'] }), claims: [aPlainClaim({ name: 'vm1.net.1' })] },
    ['VM adopts vm1.net.1'],
  ],
  [
    'a claim of ipam-extensions that two interfaces fold to is that of the one with just this name',
    { vm: aVM({ interfaces: ['Net1:net1', 'net1'] }), claims: [aPlainClaim()] },
    [`VM makes ${claimName('vm1', 'Net1')} on net1`, 'VM adopts vm1.net1'],
  ],
  [
    'a claim whose NetworkAttachmentDefinition is gone is kept',
    { vm: aVM({ interfaces: ['net1:gone'] }), claims: [aClaim({ attachment: 'lab/gone', network: 'gone' })] },
    [],
  ],
  [
    'a claim whose NetworkAttachmentDefinition cannot be used is kept',
    { vm: aVM(), claims: [aClaim()], nads: { 'lab/net1': 'refused' } },
    [],
  ],
  [
    'a claim whose network does not allow persistent addresses any more is kept',
    { vm: aVM(), claims: [aClaim()], nads: { 'lab/net1': '!other' } },
    [],
  ],
  [
    'the claim of a pod network is kept while no network is known in its place',
    {
      vm: aVM({ interfaces: ['podnet:pod'] }),
      claims: [aClaim({ name: 'vm1.podnet', interface: 'eth0', attachment: 'lab/primary', network: 'cluster_udn_p' })],
    },
    [],
  ],
  [
    'an interface on its way out keeps its claim',
    { vm: aVM({ absent: ['net1'] }), vmi: aVMI({ of: 'vm-1', absent: ['net1'] }), claims: [aClaim()] },
    [],
  ],
  ['and gets none', { vm: aVM({ absent: ['net1'] }), vmi: aVMI({ of: 'vm-1' }) }, []],
  [
    'a claim that a user deletes is kept while its interface is there',
    { vm: aVM(), claims: [aClaim({ isDeleting: true })] },
    [],
  ],
  // --- adopted ---
  [
    'H6: a virtual machine that adopted a lone instance adopts its claims',
    {
      vm: aVM(),
      vmi: aVMI({ of: 'vm-1' }),
      claims: [aClaim({ owner: 'vmi-1', ownerKind: 'VirtualMachineInstance' })],
    },
    ['VM adopts vm1.net1'],
  ],
  [
    'a lone instance keeps its claims beside a virtual machine that has not adopted it',
    { vm: aVM(), vmi: aVMI(), claims: [aClaim({ owner: 'vmi-1', ownerKind: 'VirtualMachineInstance' })] },
    [],
  ],
  [
    'H7: a claim that its virtual machine left behind becomes that of the instance that runs on',
    { vmi: aVMI(), claims: [aClaim({ owner: '' })], pods: [using('vm1.net1')] },
    ['VMI adopts vm1.net1'],
  ],
  [
    'a claim that was there before its virtual machine, and is labelled for it, becomes its own',
    { vm: aVM(), claims: [aClaim({ owner: '', attachment: '', finalizers: [] })] },
    ['VM adopts vm1.net1'],
  ],
  // --- in the way ---
  [
    '35: a claim of that name without owner and label belongs to no virtual machine',
    { vm: aVM(), claims: [aClaim({ owner: '', label: '' })] },
    ['waits for vm1.net1'],
  ],
  [
    'a claim of that name of another virtual machine is waited for',
    { vm: aVM(), claims: [aClaim({ owner: 'vm-9', ownerName: 'other', label: 'other' })] },
    ['waits for vm1.net1'],
  ],
  [
    '37: so is that of an earlier virtual machine of the same name',
    { vm: aVM({ uid: 'vm-2' }), claims: [aClaim({ isDeleting: true })] },
    ['waits for vm1.net1'],
  ],
  [
    'whose instance is still there',
    { vm: aVM({ uid: 'vm-2' }), vmi: aVMI({ of: 'vm-1', isDeleting: true }), claims: [aClaim({ isDeleting: true })] },
    ['waits for vm1.net1'],
  ],
  [
    'a claim of that name that cannot be read is waited for',
    { vm: aVM(), unreadable: ['vm1.net1'] },
    ['waits for vm1.net1'],
  ],
  [
    'and the other interfaces do not wait with it',
    { vm: aVM({ interfaces: ['net1', 'net2'] }), claims: [aClaim({ owner: '', label: '' })] },
    ['VM makes vm1.net2 on net2', 'waits for vm1.net1'],
  ],
  // --- hot-plug, hot-unplug ---
  [
    'an interface that is plugged in gets its claim',
    {
      vm: aVM({ interfaces: ['net1', 'net2'] }),
      vmi: aVMI({ of: 'vm-1' }),
      claims: [aClaim()],
      pods: [using('vm1.net1')],
    },
    ['VM makes vm1.net2 on net2'],
  ],
  [
    'H4: the claim of an interface that is gone goes',
    { vm: aVM({ interfaces: [] }), vmi: aVMI({ of: 'vm-1', interfaces: [] }), claims: [aClaim()], pods: [aPod()] },
    ['deletes vm1.net1'],
  ],
  ['of a stopped one too', { vm: aVM({ interfaces: [] }), claims: [aClaim()] }, ['deletes vm1.net1']],
  [
    'but not while the instance has it',
    { vm: aVM({ interfaces: [] }), vmi: aVMI({ of: 'vm-1' }), claims: [aClaim()] },
    [],
  ],
  ['nor while the template has it', { vm: aVM(), vmi: aVMI({ of: 'vm-1', interfaces: [] }), claims: [aClaim()] }, []],
  ['nor while a pod runs with it', { vm: aVM({ interfaces: [] }), claims: [aClaim()], pods: [using('vm1.net1')] }, []],
  [
    'nor while a pod runs whose networks cannot be read',
    { vm: aVM({ interfaces: [] }), claims: [aClaim()], pods: [aPod({ networks: '[{' })] },
    [],
  ],
  [
    'nor while a pod shows that it was given one of its addresses',
    {
      vm: aVM({ interfaces: [] }),
      claims: [aClaim({ ips: ['fd00::5/64'] })],
      pods: [aPod({ podNetworks: '{"lab/net1":{"ip_addresses":["10.0.0.5/24","fd00:0::5/64"]}}' })],
    },
    [],
  ],
  [
    'a pod that shows another address does not keep it',
    {
      vm: aVM({ interfaces: [] }),
      claims: [aClaim({ ips: ['10.0.0.5/24'] })],
      pods: [aPod({ podNetworks: '{"default":{"ip_addresses":["10.0.0.50/24"],"mac_address":"0a:58:0a:00:00:05"}}' })],
    },
    ['deletes vm1.net1'],
  ],
  [
    'a pod that ran with it does not keep it',
    { vm: aVM({ interfaces: [] }), claims: [aClaim()], pods: [ended('vm1.net1')] },
    ['deletes vm1.net1'],
  ],
  ['a claim that a user made is never deleted', { vm: aVM({ interfaces: [] }), claims: [aClaim({ label: '' })] }, []],
  ['nor is one without our finalizer', { vm: aVM({ interfaces: [] }), claims: [aClaim({ finalizers: [] })] }, []],
  [
    'what is deleted already is not deleted again',
    { vm: aVM({ interfaces: [] }), claims: [aClaim({ isDeleting: true })] },
    [],
  ],
  // --- another network ---
  [
    'H5: an interface that moves to another network gets a claim there, and the old one goes',
    { vm: aVM({ interfaces: ['net1:blue'] }), claims: [aClaim({ ips: ['10.0.0.5/24'] })] },
    [`VM makes ${blueName} on blue`, 'deletes vm1.net1'],
  ],
  [
    'H5: live, the pod that is left keeps the old one, and the pod that comes has the new one',
    {
      vm: aVM({ interfaces: ['net1:blue'] }),
      vmi: aVMI({ of: 'vm-1', interfaces: ['net1:blue'] }),
      claims: [aClaim()],
      pods: [using('vm1.net1')],
    },
    [`VM makes ${blueName} on blue`],
  ],
  [
    'when that pod is gone, so is the old one',
    {
      vm: aVM({ interfaces: ['net1:blue'] }),
      vmi: aVMI({ of: 'vm-1', interfaces: ['net1:blue'] }),
      claims: [aClaim(), aClaim({ name: blueName, attachment: 'lab/blue', network: 'blue' })],
      pods: [ended('vm1.net1'), using(blueName)],
    },
    ['deletes vm1.net1'],
  ],
  [
    'sent back before that, it has its old claim, and the new one goes',
    {
      vm: aVM(),
      vmi: aVMI({ of: 'vm-1' }),
      claims: [aClaim(), aClaim({ name: blueName, attachment: 'lab/blue', network: 'blue' })],
      pods: [using('vm1.net1')],
    },
    [`deletes ${blueName}`],
  ],
  [
    'what runs and what the template says have a claim each, until the next start',
    { vm: aVM({ interfaces: ['net1:blue'] }), vmi: aVMI({ of: 'vm-1' }) },
    ['VM makes vm1.net1 on net1', `VM makes ${blueName} on blue`],
  ],
  [
    'a NetworkAttachmentDefinition that is now of another network is another network',
    { vm: aVM(), claims: [aClaim()], nads: { 'lab/net1': 'other' } },
    [`VM makes ${movedClaimName('vm1', 'net1', 'lab/net1', 'other')} on other`, 'deletes vm1.net1'],
  ],
  [
    'another NetworkAttachmentDefinition is another network, whatever name that has: its addresses may be its own',
    { vm: aVM({ interfaces: ['net1:blue'] }), claims: [aClaim()], nads: { 'lab/blue': 'net1' } },
    [`VM makes ${movedClaimName('vm1', 'net1', 'lab/blue', 'net1')} on net1`, 'deletes vm1.net1'],
  ],
  [
    'of two claims for one interface the one that a pod uses stays',
    {
      vm: aVM(),
      claims: [aClaim({ createdAt: '2025-01-01T00:00:00Z', ips: ['10.0.0.5/24'] }), aClaim({ name: 'vm1.net1-2' })],
      pods: [aPod({ networks: [{ name: 'net1', 'ipam-claim-reference': 'vm1.net1-2' }] })],
    },
    ['deletes vm1.net1'],
  ],
  // --- left behind ---
  [
    'H7: a claim that was left behind goes when nothing is left of its machine',
    { claims: [aClaim({ owner: '' })] },
    ['deletes vm1.net1'],
  ],
  ['not while a pod can still run', { claims: [aClaim({ owner: '' })], pods: [aPod()] }, []],
  [
    'a completed pod does not keep it',
    { claims: [aClaim({ owner: '' })], pods: [ended('vm1.net1')] },
    ['deletes vm1.net1'],
  ],
  [
    'a claim that a user made and labelled is not taken for one',
    { claims: [aClaim({ owner: '', attachment: '' })] },
    [],
  ],
  ['29: one that has an owner is the garbage collector’s', { claims: [aClaim()] }, []],
]

describe('The claims of a virtual machine:', () => {
  test.each(rules)('%s', (_, sight, expected) => {
    expect(done(sight)).toEqual(expected)
  })

  test('a claim says which interface and NetworkAttachmentDefinition it is for', () => {
    const { make } = planOf({
      vm: aVM({ interfaces: ['podnet:pod', 'net1'] }),
      nads: { 'lab/primary': 'cluster_udn_p' },
      primary: 'lab/primary',
    })
    expect(make).toMatchObject([
      { name: 'vm1.podnet', network: 'cluster_udn_p', interface: 'eth0', attachment: 'lab/primary' },
      { name: 'vm1.net1', network: 'net1', interface: 'pod6c270ef2f25', attachment: 'lab/net1' },
    ])
  })
})

describe('What the user of a virtual machine is told:', () => {
  const messageOf = (sight: Sight) =>
    planOf(sight)
      .notices.map(({ message }) => message)
      .join()

  test.each([
    ['a claim without an owner', aClaim({ owner: '', label: '' }), /vm1\.net1 was not made for it, and is in the way/],
    [
      'a claim of another',
      aClaim({ owner: 'x', ownerName: 'web', label: 'web' }),
      /belongs to VirtualMachine web, and is/,
    ],
    ['one of an earlier machine', aClaim({ owner: 'x', isDeleting: true }), /an earlier one of this name, and goes/],
  ])('%s is in the way', (_, claim, sentence) => {
    expect(messageOf({ vm: aVM(), claims: [claim] })).toMatch(sentence)
  })

  test('its network is refused', () => {
    expect(messageOf({ vm: aVM(), nads: { 'lab/net1': 'refused' } })).toMatch(/net1 gets no .* lab\/net1: its subnets/)
  })

  test('nothing, while the virtual machine goes and leaves its instance and claims behind', () => {
    expect(messageOf({ vm: aVM({ isDeleting: true }), vmi: aVMI(), claims: [aClaim()] })).toBe('')
  })
})

describe('A virtual machine shows', () => {
  const served = aClaim({ ips: ['10.0.0.5/24', 'fd00::5/64'] })
  const text = '[{"interfaceName":"net1","ips":["10.0.0.5/24","fd00::5/64"]}]'

  test.each<readonly [string, Sight, string | undefined]>([
    ['the addresses of its claims', { vm: aVM(), claims: [served] }, text],
    ['nothing without any', { vm: aVM({ shown: text }), claims: [aClaim()] }, undefined],
    ['what it showed before, on its way out', { vm: aVM({ shown: text, isDeleting: true }) }, text],
    [
      'those of the network that it runs on',
      {
        vm: aVM({ interfaces: ['net1:blue'] }),
        vmi: aVMI({ of: 'vm-1' }),
        claims: [served, aClaim({ name: blueName, attachment: 'lab/blue', network: 'blue', ips: ['10.1.0.5/24'] })],
        pods: [using('vm1.net1')],
      },
      text,
    ],
  ])('%s', (_, sight, shown) => {
    expect(planOf(sight).shown).toBe(shown)
  })
})

// --- what is asked for ---

const card = '02:00:00:00:00:05'
const other = '02:00:00:00:00:06'
const asksFor = { addresses: { net1: ['10.0.0.5'] }, macs: { net1: card } }
const noted = { 'mooring.dev/requested-ips': '10.0.0.5', 'mooring.dev/requested-mac': card }

const asRequest = (request: AddressRequest): string =>
  [request.mac ?? '-', ...request.ips.map(toRequestedText)].join(' ')

/** What claims are to ask for, and what the user is told. */
function asked(sight: Sight): string[] {
  const { make, ask, adopt, notices } = planOf(sight)
  return [
    ...make.map(({ name, request }) => `makes ${name}: ${asRequest(request)}`),
    ...ask.map(({ claim, request }) => `${claim.metadata.name}: ${asRequest(request)}`),
    ...adopt.map(one => `adopts ${one.claim.metadata.name}${one.isMadeBeforehand ? ', made beforehand' : ''}`),
    ...notices.map(({ reason, message }) => `${reason}: ${message}`),
  ]
}

const requests: readonly (readonly [string, Sight, readonly (string | RegExp)[]])[] = [
  ['is made with what its interface asks for', { vm: aVM(asksFor) }, [`makes vm1.net1: ${card} 10.0.0.5`]],
  [
    'is made with what the instance asks for, where one runs',
    { vm: aVM({ addresses: { net1: ['10.0.0.6'] } }), vmi: aVMI({ of: 'vm-1', ...asksFor }) },
    [`makes vm1.net1: ${card} 10.0.0.5`],
  ],
  [
    'is made with what the default network asks for (b)',
    {
      vm: aVM({ interfaces: ['podnet:pod'], defaultNetwork: [{ name: 'default', mac: card, ips: ['10.0.0.5/24'] }] }),
      nads: { 'lab/p': 'p' },
      primary: 'lab/p',
    },
    [`makes vm1.podnet: ${card} 10.0.0.5/24`],
  ],
  [
    'is not made while it cannot be read what is asked for, and the other interfaces do not wait',
    { vm: aVM({ interfaces: ['net1', 'net2'], addresses: { net1: ['x'] } }) },
    ['makes vm1.net2: -', /^InvalidRequest: what the interface net1 asks for cannot be read.*"x"/],
  ],
  ['that asks for that is left alone', { vm: aVM(asksFor), claims: [aClaim({ annotations: noted })] }, []],
  ['without addresses is told', { vm: aVM(asksFor), claims: [aClaim()] }, [`vm1.net1: ${card} 10.0.0.5`]],
  [
    'without addresses is told that nothing is asked for any more',
    { vm: aVM(), claims: [aClaim({ annotations: noted })] },
    ['vm1.net1: -'],
  ],
  [
    'whose annotations were spoilt gets them again',
    { vm: aVM(), claims: [aClaim({ annotations: { 'mooring.dev/requested-mac': 'x' } })] },
    ['vm1.net1: -'],
  ],
  [
    'with addresses is told the MAC alone',
    { vm: aVM(asksFor), claims: [aClaim({ ips: ['10.0.0.5/24'] })] },
    [`vm1.net1: ${card}`],
  ],
  [
    'with other addresses keeps them',
    { vm: aVM({ addresses: { net1: ['10.0.0.5'] } }), claims: [aClaim({ ips: ['10.0.0.7/24'] })] },
    [
      /^RequestNotApplied: .* asks for 10.0.0.5, and its IPAMClaim vm1.net1 has 10.0.0.7\/24: remove the interface and add it again, or take/,
    ],
  ],
  [
    'with the address that is asked for in another spelling is left alone',
    { vm: aVM({ addresses: { net1: ['::ffff:10.0.0.5'] } }), claims: [aClaim({ ips: ['10.0.0.5/24'] })] },
    [],
  ],
  [
    'made beforehand, with a request in its spec, is adopted',
    { vm: aVM(), claims: [aClaimBeforehand({ asks: { ips: ['10.0.0.5'] } })] },
    ['adopts vm1.net1, made beforehand'],
  ],
  [
    'made beforehand, named after the network, is adopted',
    {
      vm: aVM({ interfaces: ['podnet:pod'] }),
      claims: [aClaimBeforehand({ name: 'vm1.cluster.udn.p', network: 'cluster_udn_p', annotations: noted })],
      nads: { 'lab/p': 'cluster_udn_p' },
      primary: 'lab/p',
    },
    ['adopts vm1.cluster.udn.p, made beforehand'],
  ],
  [
    'made beforehand without a request is in the way',
    { vm: aVM(), claims: [aClaimBeforehand()] },
    [/^ClaimNameTaken: the IPAMClaim vm1.net1 was not made for it/],
  ],
  [
    'made beforehand for another network is in the way',
    { vm: aVM(), claims: [aClaimBeforehand({ network: 'blue', annotations: noted })] },
    [/^ClaimNameTaken/],
  ],
  [
    'made beforehand keeps its request when the machine asks for nothing',
    { vm: aVM(), claims: [aClaim({ annotations: { ...noted, 'mooring.dev/requested-beforehand': 'ips,mac' } })] },
    [],
  ],
  [
    'made beforehand keeps its request when the machine asks for something else',
    {
      vm: aVM({ addresses: { net1: ['10.0.0.6'] }, macs: { net1: other } }),
      claims: [aClaim({ asks: { ips: ['10.0.0.5'], mac: card } })],
    },
    [
      /^RequestNotApplied: .*10.0.0.6, and .* for 10.0.0.5/,
      /^RequestNotApplied: .*:06, and its IPAMClaim vm1.net1 for 02:.*:05/,
    ],
  ],
  [
    'made beforehand with addresses alone asks for the MAC of the machine too',
    { vm: aVM({ macs: { net1: card } }), claims: [aClaim({ asks: { ips: ['10.0.0.5'] } })] },
    [`vm1.net1: ${card} 10.0.0.5`],
  ],
  [
    'is not asked where addresses do not last, and the user hears of it (H16)',
    { vm: aVM({ addresses: { net1: ['10.0.0.5'] } }), nads: { 'lab/net1': '!net1' } },
    [/^RequestIgnored: the interface net1 asks for 10.0.0.5, and lab\/net1 has no persistent addresses/],
  ],
  [
    'is not there for the pod network of the cluster, and the user hears of it',
    { vm: aVM({ interfaces: ['podnet:pod'], addresses: { podnet: ['10.0.0.5'] } }) },
    [/^RequestIgnored: .* and the pod network has no persistent addresses/],
  ],
  [
    'is none of an interface that the machine does not have, and the user hears of it (H31)',
    { vm: aVM({ addresses: { eth0: ['10.0.0.5'] } }), claims: [aClaim()] },
    [/^RequestIgnored: .* names "eth0", and there is no such interface/],
  ],
]

test.each(requests)('a claim %s', (_, sight, told) => {
  const found = asked(sight)
  expect(found).toHaveLength(told.length)
  for (const [i, words] of told.entries()) {
    if (typeof words === 'string') expect(found[i]).toBe(words)
    else expect(found[i]).toMatch(words)
  }
})

test('a virtual machine of ten thousand interfaces, all of them wrong, is looked at in a moment', {
  timeout: 60_000,
}, () => {
  const interfaces = Array.from({ length: 10_000 }, (_, i) => `n${i}:net1`)
  const macs = Object.fromEntries(interfaces.map((_, i) => [`n${i}`, 'x']))
  const claims = interfaces.map((_, i) => aClaim({ name: `vm1.n${i}`, interface: podInterfaceName(`n${i}`) }))
  const began = performance.now()
  expect(planOf({ vm: aVM({ interfaces, macs }) }).notices).toHaveLength(20)
  expect(planOf({ vm: aVM({ interfaces }), claims }).make).toEqual([])
  expect(performance.now() - began).toBeLessThan(30_000)
})
