// What must be true at the vCenter at every revision, read from its virtual machines as they are: one for a Machine, ever; and each
// address in its kernel arguments held by a claim of that Machine for as long as the virtual machine is there.

import type { StandInVCenter } from '../harness/stand-in-vcenter.ts'
import type { Stored } from './observer.ts'

export type VCenterSeen = Pick<StandInVCenter, 'vms' | 'cloned'>

interface Kept {
  readonly machines: ReadonlyMap<string, Stored>
  readonly claims: ReadonlyMap<string, Stored>
  readonly holds: ReadonlyMap<string, Stored>
}

type VM = VCenterSeen['vms'][number]

export class VCenterObserver {
  readonly #say: (violation: string) => void
  readonly #vcenter: VCenterSeen
  readonly #kept: Kept

  constructor(say: (violation: string) => void, vcenter: VCenterSeen, kept: Kept) {
    this.#say = say
    this.#vcenter = vcenter
    this.#kept = kept
  }

  see(revision: number): void {
    const { vms, cloned } = this.#vcenter
    if (new Set(cloned).size < cloned.length) this.#say(`revision ${revision}: a virtual machine was cloned twice`)
    for (const vm of vms) {
      for (const ip of addressesTold(vm)) {
        if (!this.#isHeldFor(vm, ip))
          this.#say(`revision ${revision}: ${vm.name} has ${ip}, which no claim of its Machine holds`)
      }
      if (vm.powerState === 'poweredOn' && addressesTold(vm).length === 0)
        this.#say(`revision ${revision}: ${vm.name} runs and was told no address`)
    }
  }

  #isHeldFor({ instanceUuid }: VM, ip: string): boolean {
    for (const { spec, status } of this.#kept.holds.values()) {
      if (spec?.address !== ip || status?.state !== 'held') continue
      const claim = this.#kept.claims.get(`${spec.claimRef?.namespace}/${spec.claimRef?.name}`)
      const isOf = claim?.metadata.ownerReferences?.some(({ uid }) => uid === instanceUuid) === true
      if (isOf && claim?.metadata.uid === spec.claimRef?.uid) return true
    }
    return false
  }

  /** When everything has come to rest: each Machine has the virtual machine that it names, which runs; no other is there. */
  leftovers(): string[] {
    const { vms } = this.#vcenter
    const machines = [...this.#kept.machines.values()]
    const strays = vms.filter(vm => !machines.some(({ metadata }) => metadata.uid === vm.instanceUuid))
    const lacking = machines.filter(({ metadata, spec, status }) => {
      const vm = vms.find(one => one.instanceUuid === metadata.uid)
      const { instanceId, taskRef } = status?.providerStatus ?? {}
      const isNamed = instanceId === metadata.uid && spec?.providerID === `vsphere://bios-${metadata.uid}`
      return status?.phase === 'Provisioned' && (vm?.powerState !== 'poweredOn' || !isNamed || taskRef !== undefined)
    })
    return [
      ...strays.map(({ name }) => `the virtual machine ${name} has no Machine`),
      ...lacking.map(({ metadata }) => `Machine ${metadata.name} does not have the virtual machine that it names`),
    ]
  }
}

const kargsKey = 'guestinfo.afterburn.initrd.network-kargs'

const addressesTold = ({ extraConfig }: VM): string[] =>
  [...(extraConfig.get(kargsKey) ?? '').matchAll(/(?:^| )ip=([0-9.]+):/g)].map(([, ip = '']) => ip)
