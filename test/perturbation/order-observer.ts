// What must be true of Machines of OpenShift and their claims at every revision, read from what is stored with none of the code that
// wrote it: a Machine that says that its claims are bound has them, each with the address it remembers; and no claim may go while
// the virtual machine of its Machine may run.

import type { Condition, Stored } from './observer.ts'
import { VCenterObserver, type VCenterSeen } from './vcenter-observer.ts'

export const claimedOf = (machine: Stored | undefined): Condition | undefined =>
  machine?.status?.conditions?.find(({ type }) => type === 'IPAddressClaimed')

const machineFinalizer = 'machine.machine.openshift.io'
const protection = 'machine.openshift.io/ip-claim-protection'

export class OrderObserver {
  readonly machines = new Map<string, Stored>()
  readonly #say: (violation: string) => void
  readonly #claims: ReadonlyMap<string, Stored>
  readonly #reports: ReadonlyMap<string, Stored>
  /** Where Mooring makes the virtual machines. */
  readonly vcenter: VCenterObserver | undefined

  constructor(
    say: (violation: string) => void,
    { claims, reports, holds }: Readonly<Record<'claims' | 'reports' | 'holds', ReadonlyMap<string, Stored>>>,
    vcenter?: VCenterSeen,
  ) {
    this.#say = say
    this.#claims = claims
    this.#reports = reports
    this.vcenter = vcenter && new VCenterObserver(say, vcenter, { machines: this.machines, claims, holds })
  }

  see(revision: number): void {
    for (const [key, machine] of this.machines) {
      if (machine.metadata.deletionTimestamp === undefined && claimedOf(machine)?.status === 'True')
        this.#seeClaimed(revision, key, machine)
    }
    for (const [key, claim] of this.#claims) this.#seeClaim(revision, key, claim)
    this.vcenter?.see(revision)
  }

  #seeClaimed(revision: number, key: string, machine: Stored): void {
    const remembered = machine.metadata.annotations?.['mooring.dev/claimed-addresses']?.split(', ') ?? []
    if (remembered.length === 0)
      this.#say(`revision ${revision}: Machine ${key} says it is claimed and remembers nothing`)
    for (const pair of remembered) {
      const [name = '', address = ''] = pair.split('=')
      const claim = this.#claims.get(`default/${name}`)
      const report = this.#reports.get(`default/${claim?.status?.addressRef?.name}`)
      if (`${report?.spec?.address}/24` !== address)
        this.#say(`revision ${revision}: Machine ${key} has ${pair}, and the claim ${report?.spec?.address}`)
    }
  }

  #seeClaim(revision: number, key: string, claim: Stored): void {
    const owner = claim.metadata.ownerReferences?.find(({ kind }) => kind === 'Machine')
    const machine = owner && this.machines.get(`${claim.metadata.namespace}/${owner.name}`)
    if (machine === undefined || machine.metadata.uid !== owner?.uid) return
    const mayRun = machine.metadata.finalizers?.includes(machineFinalizer) === true
    if (mayRun && claim.metadata.finalizers?.includes(protection) !== true)
      this.#say(`revision ${revision}: ${key} may go while the virtual machine of Machine ${owner?.name} may run`)
  }
}
