// What berths show to have, and what networks offer. The ledger is kept equal to it whichever desks are on: with the toy desk
// off, no other desk gives out what a berth has.

import { identityKey } from '../../src/api/object.ts'
import type { Ledger, ShownBy } from '../../src/controllers/office/ledger.ts'
import { type Sources, toSource } from '../../src/controllers/office/sources.ts'
import { parseIP } from '../../src/ip/address.ts'
import { isMalformed } from '../../src/ip/malformed.ts'
import type { Change } from '../../src/kube/cache.ts'
import { type KubeObject, keyOf } from '../../src/kube/object.ts'
import { berthOf, networkNamed, networkOf } from './parsed.ts'
import type { Caches } from './world.ts'

export const berthNamed = (key: string): ShownBy => ({ kind: 'Berth', key })

type Seen = Pick<Caches, 'berths' | 'networks'>

export function followShown({ berths, networks }: Seen, ledger: Ledger, sources: Sources): void {
  networks.subscribe(change => offer(change, sources))
  berths.subscribe(({ key, new: object }) => showChoice(key, object, ledger, sources))
  // A berth that came before its network shows from now on.
  networks.subscribe(({ new: network }) => {
    if (network === undefined) return
    const key = identityKey(networkNamed(network.metadata.name ?? ''))
    for (const object of berths.byIndex('network', key)) showChoice(keyOf(object), object, ledger, sources)
  })
}

function offer({ old, new: next }: Change<KubeObject>, sources: Sources): void {
  const network = next && networkOf(next)
  if (network !== undefined && !isMalformed(network)) sources.put(toSource(network.pools))
  else sources.remove(networkNamed((next ?? old)?.metadata.name ?? ''))
}

/** Each address of the choice is shown as a part of its own. */
function showChoice(key: string, object: KubeObject | undefined, ledger: Ledger, sources: Sources): void {
  const berth = object && berthOf(object)
  for (const part of ['v4', 'v6'] as const) {
    const by = { ...berthNamed(key), part }
    const choice = berth === undefined || isMalformed(berth) || isMalformed(berth.choice) ? undefined : berth.choice
    const ip = parseIP(choice?.[part] ?? '')
    if (berth === undefined || isMalformed(berth) || isMalformed(ip)) {
      ledger.hide(by, 'choice')
      continue
    }
    const pool = sources.poolsOf(berth.network).find(one => one.family === ip.family)
    const place =
      pool === undefined ? { space: '', ip: undefined, bits: 0 } : { space: pool.space, ip, bits: pool.bits }
    ledger.show({ by, as: 'choice', pool: berth.network, namespace: berth.metadata.namespace, ...place })
  }
}
