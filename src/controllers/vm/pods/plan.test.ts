// The rules for a launcher pod, as a table: what was seen, the entries of its annotation, and what its author is told.

import { describe, expect, test } from 'vitest'
import { orThrow } from '../../../../test/harness/or-throw.ts'
import { networkOf } from '../../../../test/vm/networks.ts'
import { type Hold, parseHold, toHoldObject } from '../../../api/hold.ts'
import { type IPAMClaim, parseIPAMClaim } from '../../../api/ipam-claim.ts'
import { parseLauncherPod } from '../../../api/launcher-pod.ts'
import { bitsOf, parseIP } from '../../../ip/address.ts'
import { refuse } from '../../../ipam/refusal.ts'
import { type NamedClaim, type PodSeen, planPod, type SeenNetwork } from './plan.ts'

const blue = networkOf({ name: 'blue', subnets: ['10.9.0.0/28'] })
const primary = networkOf({ name: 'own', subnets: ['10.7.0.0/24'], gateways: ['10.7.0.1'], isPrimary: true })
const bare = networkOf({ name: 'bare', subnets: [] })
const macOfOne = '0a:58:0a:09:00:01'
const card = '02:00:00:00:00:05'

function aHold(address = '10.9.0.1'): Hold {
  const ip = orThrow(parseIP(address))
  const claim = { apiGroup: 'k8s.cni.cncf.io', kind: 'IPAMClaim', namespace: 'red', name: 'vm.blue' }
  const spec = { space: 'blue', ip, bits: bitsOf(ip.family), pool: blue.source, owner: undefined }
  return orThrow(parseHold(toHoldObject({ ...spec, claim: { ...claim, uid: 'c-1', part: 'v4' } }, '')))
}

interface ClaimStory {
  readonly network?: string
  readonly ips?: readonly string[]
  readonly asks?: object
  readonly isDeleting?: boolean
  readonly refusal?: string
}

function aClaim({ network = 'blue', ips = ['10.9.0.1/28'], asks, isDeleting, refusal }: ClaimStory = {}): IPAMClaim {
  const conditions = refusal === undefined ? [] : [{ type: 'IPsAllocated', status: 'False', reason: refusal }]
  return orThrow(
    parseIPAMClaim({
      metadata: {
        ...{ namespace: 'red', name: 'vm.blue', uid: 'c-1', resourceVersion: '7' },
        ...(isDeleting === true && { deletionTimestamp: '2030-01-01T00:00:00Z' }),
      },
      spec: { network, interface: 'pod1', ...asks },
      status: { ips, conditions },
    }),
  )
}

const named = (story: ClaimStory = {}, more: Partial<NamedClaim> = {}): NamedClaim => ({
  ...{ claim: aClaim(story), held: [aHold()], mayUse: 'yes', isKept: false },
  ...more,
})

interface Story {
  /** The networks annotation; an element on red/blue that names the claim, unless said. */
  readonly networks?: string | readonly object[]
  /** The annotation that OVN-Kubernetes reads, as it stands there. */
  readonly stored?: string | object
  readonly pod?: object
  readonly status?: object
  readonly annotations?: object
  readonly claim?: NamedClaim | undefined
  readonly isObserved?: boolean
  readonly isOnPodNetwork?: boolean
  readonly found?: SeenNetwork
}

const element = (more: object = {}) => ({ name: 'blue', 'ipam-claim-reference': 'vm.blue', ...more })
const textOf = (value: string | object): string => (typeof value === 'string' ? value : JSON.stringify(value))

function seenOf(story: Story): PodSeen {
  const { networks = [element()], stored, pod = { nodeName: 'node-1' }, status = {}, isObserved = false } = story
  const claim = 'claim' in story ? story.claim : named()
  const all: Readonly<Record<string, SeenNetwork>> = {
    'red/blue': { network: blue, isObserved },
    'red/own': { network: primary, isObserved: false },
    'red/bare': { network: bare, isObserved: false },
    'red/other': { foreign: 'it is of another plugin' },
    'red/wrong': { refused: refuse('NetworkDiffers', 'it says something else') },
  }
  return {
    pod: orThrow(
      parseLauncherPod({
        metadata: {
          ...{ namespace: 'red', name: 'virt-launcher-1', uid: 'p-1' },
          annotations: {
            'kubevirt.io/domain': 'vm',
            'k8s.v1.cni.cncf.io/networks': textOf(networks),
            ...(stored !== undefined && { 'k8s.ovn.org/pod-networks': textOf(stored) }),
            ...story.annotations,
          },
        },
        spec: pod,
        status,
      }),
    ),
    primary: story.isOnPodNetwork === undefined ? undefined : 'red/own',
    isOnPodNetwork: story.isOnPodNetwork === true,
    networkOf: attachment => all[attachment],
    claimOf: name => (name === 'vm.blue' ? claim : undefined),
  }
}

/** In short: what is written under which key, and what is told. */
function planOf(story: Story): string {
  const { entries, problems } = planPod(seenOf(story))
  const written = Object.entries(entries).map(([key, entry]) => {
    const { ip_addresses: ips, mac_address: mac } = (entry ?? {}) as { ip_addresses?: string[]; mac_address?: string }
    return entry === null ? `${key} goes` : `${key}: ${ips?.join(' ')} ${mac}`
  })
  return [...written, ...problems.map(({ reason }) => reason)].join(', ') || 'nothing'
}

const served = `red/blue: 10.9.0.1/28 ${macOfOne}`
const stored = (ip: string) => ({ 'red/blue': { ip_addresses: [ip], mac_address: macOfOne } })

describe('a launcher pod', () => {
  test.each<[string, Story, string]>([
    ['has the addresses of the claim that it names', {}, served],
    ['that is not scheduled is left alone', { pod: {} }, 'nothing'],
    ["on the host's network is left alone", { pod: { nodeName: 'node-1', hostNetwork: true } }, 'nothing'],
    ['that has ended is left alone', { status: { phase: 'Failed' } }, 'nothing'],
    ['whose networks cannot be read is told so', { networks: '[{' }, 'InvalidNetworks'],
    ['on a network that is not ours to give out is left alone', { isObserved: true }, 'nothing'],
    ['on a network of another plugin is left alone', { networks: [element({ name: 'other' })] }, 'nothing'],
    ['on a network that is refused is told why', { networks: [element({ name: 'wrong' })] }, 'NetworkDiffers'],
    ['on a network that is not there is told so', { networks: [element({ name: 'gone' })] }, 'NetworkNotFound'],
    ['without a claim on a network that is not there is left alone', { networks: [{ name: 'gone' }] }, 'nothing'],
    ['that has the same addresses is left as it is', { stored: stored('10.9.0.1/28') }, 'nothing'],
    ['that has other addresses is told so, and keeps them', { stored: stored('10.9.0.5/28') }, 'AddressesDiffer'],
    ['whose entries cannot be read keeps them', { stored: '{' }, 'InvalidPodNetworks'],
    ['that left a network loses its entry for it', { networks: [], stored: stored('10.9.0.1/28') }, 'red/blue goes'],
    [
      "keeps entries of others' networks that it left",
      { networks: [], stored: { 'red/other': { ip_addresses: ['10.1.0.1/24'] } } },
      'nothing',
    ],
    ['that names no claim is told so', { networks: [{ name: 'blue' }] }, 'IPAMClaimMissing'],
    ['that names a claim that is not there is told so', { claim: undefined }, 'IPAMClaimNotFound'],
    [
      'that names a claim of another network is told so',
      { claim: named({ network: 'green' }) },
      'IPAMClaimOfAnotherNetwork',
    ],
    [
      'that names a claim of another machine is told so',
      { claim: named({}, { mayUse: 'no' }) },
      'IPAMClaimOfAnotherVM',
    ],
    [
      'of an instance that is not in view is told so',
      { claim: named({}, { mayUse: 'not known yet' }) },
      'PodOfAnotherInstance',
    ],
    ['whose claim has no addresses yet waits', { claim: named({ ips: [] }) }, 'nothing'],
    [
      'whose claim is refused is told why',
      { claim: named({ ips: [], refusal: 'SubnetExhausted' }) },
      'SubnetExhausted',
    ],
    ['gets nothing that its claim shows and does not hold', { claim: named({}, { held: [] }) }, 'nothing'],
    ['whose claim is being deleted gets nothing', { claim: named({ isDeleting: true }) }, 'IPAMClaimDeleting'],
    [
      'whose claim is being deleted, and stays, has its addresses',
      { claim: named({ isDeleting: true }, { isKept: true }) },
      served,
    ],
    ['that asks for an address of its claim has it', { networks: [element({ ips: ['10.9.0.1'] })] }, served],
    [
      'that asks for an address not of its claim is told so',
      { networks: [element({ ips: ['10.9.0.9'] })] },
      'IPNotInClaim',
    ],
    [
      'that asks for a MAC that its claim does not hold is told so',
      { networks: [element({ mac: card })] },
      'MACNotInClaim',
    ],
    ['that asks for a MAC that is none is told so', { networks: [element({ mac: 'x' })] }, 'InvalidMACAddress'],
    ['that asks for the MAC of its address has it', { networks: [element({ mac: macOfOne })] }, served],
    ['whose claim is yet to take its MAC waits', { claim: named({ asks: { mac: card } }) }, 'nothing'],
    [
      'on a network without subnets has what it asks for',
      { networks: [{ name: 'bare', ips: ['10.3.0.1/24'] }] },
      'red/bare: 10.3.0.1/24 0a:58:0a:03:00:01',
    ],
    [
      'that asks for no address there is told so',
      { networks: [{ name: 'bare', ips: ['10.3.0'] }] },
      'InvalidIPAddress',
    ],
    [
      'that names its primary network among the others is told so',
      { networks: [element({ name: 'own' })] },
      'PrimaryNetworkSelected',
    ],
    [
      'is on the network in the place of the pod network by the claim that it names',
      {
        ...{ networks: [], isOnPodNetwork: true, annotations: { 'k8s.ovn.org/primary-udn-ipamclaim': 'vm.blue' } },
        claim: named({ network: 'own', ips: ['10.7.0.5/24'] }, { held: [aHold('10.7.0.5')] }),
      },
      'red/own: 10.7.0.5/24 0a:58:0a:07:00:05',
    ],
    [
      'whose machine is on it and that names no claim is told so',
      { networks: [], isOnPodNetwork: true },
      'IPAMClaimMissing',
    ],
    ['is told nothing of it where its machine is not on it', { networks: [], isOnPodNetwork: false }, 'nothing'],
  ])('%s', (_, story, plan) => expect(planOf(story)).toBe(plan))
})
