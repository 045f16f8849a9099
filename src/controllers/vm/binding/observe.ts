// What a decision about an IPAMClaim is made on, gathered in one look at the caches, the networks and the ledger. Nothing is
// written and nothing is asked of the API server; `plan.ts` decides on it.

import { ownerOf } from '../../../api/claim-use.ts'
import { type IPAMClaim, ipamClaimReference } from '../../../api/ipam-claim.ts'
import type { LauncherPod } from '../../../api/launcher-pod.ts'
import { cniGroup } from '../../../api/names.ts'
import { type Identity, identityKey } from '../../../api/object.ts'
import type { Pool } from '../../../api/pool.ts'
import type { IP } from '../../../ip/address.ts'
import type { MACText } from '../../../ip/mac.ts'
import type { Refusal } from '../../../ipam/refusal.ts'
import type { KubeObject } from '../../../kube/object.ts'
import type { Network } from '../../../networks/network.ts'
import { othersAt } from '../../office/disputes.ts'
import type { AnyHold } from '../../office/hold/steps.ts'
import type { ShownBy } from '../../office/ledger.ts'
import { macHoldAt, macHoldsOfClaim } from '../../office/mac-holds.ts'
import type { NetworksView } from '../../office/networks.ts'
import type { PartsApplicant, PartsLedger } from '../../office/parts.ts'
import { isInScope, type Scope } from '../../office/scope.ts'
import { holdsOfClaim } from '../../office/views.ts'
import { placesOf } from '../places.ts'
import { isMACShownBy, isShownBy } from '../pods/annotation.ts'
import { ownOf } from '../shown.ts'
import { usedBy } from '../use.ts'
import type { VMWorld } from '../world.ts'
import { type Holder, holderOf } from './holder.ts'
import { yieldingTo } from './rivals.ts'
import { runningIPs } from './running.ts'

export interface Seen {
  readonly claim: IPAMClaim
  /** False for a claim that another controller serves. */
  readonly isInScope: boolean
  /** What other claims and pods show is known, and what IPPools keep. */
  readonly isAllShown: boolean
  /** Where its addresses come from. A claim of a network that is not known is counted under one name. */
  readonly source: Identity
  /** Another program gives out the addresses of its network. */
  readonly isObserved: boolean
  /** Its network, one pool per family, as it is offered to the namespace of the claim; or why there is none. */
  readonly pools: readonly Pool[] | Refusal
  /** The same, whatever is offered: where what it has lies. */
  readonly places: readonly Pool[]
  /** How OVN-Kubernetes has the network; undefined for a network of another CNI. */
  readonly ovn: Network['ovn']
  /** What the IPPool of its network keeps. */
  readonly reserved: Network['reserved']
  /** What is held in its name. */
  readonly held: readonly AnyHold[]
  /** `held` is what the API server answered, not what a cache shows. */
  readonly isLive: boolean
  readonly applicant: PartsApplicant
  readonly ledger: PartsLedger & {
    /** The claim, or a pod of its machine, is counted at the address, without a hold. */
    isCounted(space: string, ip: IP): boolean
  }
  /**
   * The claim, and the pods that may use it: what they show is no use by another. Also what has to yield to it (rivals.ts).
   */
  readonly own: readonly [ShownBy, ...ShownBy[]]
  readonly holder: Holder
  /** A pod of its machine that can still run is configured with the address. */
  isShownByPod(ip: IP): boolean
  /** What its machine runs with, while the claim says nothing. */
  readonly runningIPs: readonly IP[]
  isMACShownByPod(mac: MACText): boolean
}

type World = Pick<VMWorld, 'caches' | 'ledger' | 'sources' | 'random' | 'networks' | 'isAllShown'>

export const unknownNetwork: Identity = { apiGroup: cniGroup, kind: 'Network', namespace: '', name: 'unknown' }

export function observe(claim: IPAMClaim & KubeObject, scope: Scope, world: World): Seen {
  const { caches, ledger, networks, random } = world
  const { namespace, uid } = claim.metadata
  const home = caches.namespaces.get(namespace)
  const { pods, vmi } = usedBy(claim, caches)
  const found = networks.ofClaim(claim)
  const network = 'kind' in found ? undefined : found
  const places = network === undefined ? [] : placesOf(network, world)
  const holder = holderOf(pods, vmi)
  const isServed = (other: IPAMClaim & KubeObject) => isInScope(scope, other)
  const mine = ownOf(claim, pods)
  const own = [...mine, ...yieldingTo(claim, pods, places, { caches, ledger, isServed })] as const
  return {
    claim,
    isInScope: isInScope(scope, claim),
    isAllShown: world.isAllShown(),
    source: network?.source ?? unknownNetwork,
    isObserved: network === undefined ? networks.isObservedThough(claim) : networks.isObserved(network),
    pools: 'kind' in found ? found : networks.poolsFor(found, namespace),
    places,
    ovn: network?.ovn,
    reserved: network?.reserved,
    held: [...holdsOfClaim(caches, uid), ...macHoldsOfClaim(caches, uid)].filter(({ state }) => state === 'held'),
    isLive: false,
    applicant: {
      claim: ipamClaimReference(claim, home?.metadata.uid),
      owner: ownerOf(claim),
      namespaceLabels: home && (home.metadata.labels ?? {}),
      random: random(),
    },
    ledger: {
      indexOf: space => ledger.indexOf(space),
      holdAt: (space, ip) => ledger.holdAt(space, ip),
      macHoldAt: (space, mac) => macHoldAt(caches, space, mac),
      isDisputed: (space, ip) => othersAt(ledger, space, ip, own).length > 0,
      isCounted: (space, ip) =>
        ledger.holdAt(space, ip) === undefined && mine.some(by => ledger.isShownBy(by, 'choice', space, ip)),
    },
    own,
    holder,
    isShownByPod: ip => isShownBy(pods, ip),
    runningIPs: network === undefined ? [] : runningIPsOf(claim, pods, holder, network, networks),
    isMACShownByPod: mac => isMACShownBy(pods, mac),
  }
}

/** A claim of no machine has no pods of its own. */
function runningIPsOf(
  claim: IPAMClaim,
  pods: readonly LauncherPod[],
  holder: Holder,
  { source }: Network,
  networks: Pick<NetworksView, 'attachment'>,
): readonly IP[] {
  if (claim.ips.length > 0 || ownerOf(claim) === undefined) return []
  return runningIPs(claim, pods, holder, attachment => {
    const found = networks.attachment(attachment)
    return found !== undefined && 'network' in found && identityKey(found.network.source) === identityKey(source)
  })
}
