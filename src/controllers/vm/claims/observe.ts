// Everything that one decision about the claims of a virtual machine needs, from the caches. Nothing is asked or written.

import type { IPAMClaim } from '../../../api/ipam-claim.ts'
import { isMalformed } from '../../../ip/malformed.ts'
import type { KubeObject } from '../../../kube/object.ts'
import { readable } from '../../office/kept.ts'
import { claimOf, podOf, vmiOf, vmOf } from '../parsed.ts'
import type { VMWorld } from '../world.ts'
import type { Asked } from './ask.ts'
import { namesBeforehand, wantedBy } from './belonging.ts'
import { movedClaimName } from './names.ts'
import type { ClaimsSeen } from './plan.ts'

type World = Pick<VMWorld, 'caches' | 'networks'>

/** Undefined where the virtual machine or its instance cannot be read: nothing is decided on a guess. */
export function observe(key: string, world: World): ClaimsSeen | undefined {
  const { vms, vmis, pods } = world.caches
  const [vm, vmi] = [vms.get(key), vmis.get(key)]
  if ((vm !== undefined && isMalformed(vmOf(vm))) || (vmi !== undefined && isMalformed(vmiOf(vmi)))) return undefined
  const launchers = pods.byIndex('vm', key).map(pod => readable(pod, podOf))
  return withClaims(key, world, {
    vm: readable(vm, vmOf),
    vmi: readable(vmi, vmiOf),
    pods: launchers.filter(pod => pod !== undefined),
  })
}

/** The same, where the virtual machine was asked for. */
export function withClaims(key: string, { caches, networks }: World, asked: Asked): ClaimsSeen {
  const [namespace = '', name = ''] = key.split('/')
  const wantedByVM = wantedBy(asked.vm, namespace, networks)
  const wantedByVMI = wantedBy(asked.vmi, namespace, networks)
  const names = [...wantedByVM, ...wantedByVMI].flatMap(one => [
    ...namesBeforehand(name, one),
    movedClaimName(name, one.name, one.attachment ?? '', one.network?.name ?? ''),
  ])
  const objects = new Set<KubeObject>(caches.claims.byIndex('vm', key))
  for (const one of names) {
    const object = caches.claims.get(`${namespace}/${one}`)
    if (object !== undefined) objects.add(object)
  }
  const claims: IPAMClaim[] = []
  const unreadable: string[] = []
  for (const object of objects) {
    const claim = claimOf(object)
    if (isMalformed(claim)) unreadable.push(object.metadata.name ?? '')
    else claims.push(claim)
  }
  return { name, ...asked, claims, unreadable, wantedByVM, wantedByVMI }
}
