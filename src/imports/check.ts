// Every reason why an import would fail, or would end otherwise than the machine was, told at once and before anything is made.
// Pure: what is in the cluster comes as a value.

import type { SourceMachine } from '../sources/machine.ts'
import { isSkipped, type PlannedMachine, planMachines } from './cards.ts'
import { checkCards } from './check-card.ts'
import { checkMachine, checkNames } from './check-machine.ts'
import { checkShared } from './check-shared.ts'
import { checkTarget } from './check-target.ts'
import { type Finding, sortFindings } from './finding.ts'
import type { Mapping } from './mapping.ts'
import type { ImportTarget } from './target.ts'

export function checkImport(
  machines: readonly SourceMachine[],
  mapping: Mapping,
  target: ImportTarget,
  planned: readonly PlannedMachine[] = planMachines(machines, mapping, target),
): Finding[] {
  return sortFindings([
    ...planned.flatMap(machine => [...checkMachine(machine, mapping), ...checkCards(machine, mapping, target)]),
    ...checkNames(planned, mapping, target),
    ...checkShared(planned, mapping, target),
    ...checkTarget(planned, mapping, target),
    ...checkKeys(machines, mapping),
  ])
}

/** A name that is misspelled would otherwise be without effect, and not be noticed. */
function checkKeys(machines: readonly SourceMachine[], mapping: Mapping): Finding[] {
  const isThere = (key: string) => machines.some(({ id, name }) => id === key || name === key)
  const flags: [string, Iterable<string>][] = [
    ['--name', mapping.names.keys()],
    ['--skip', mapping.skipped],
  ]
  const unknown = flags.flatMap(([flag, keys]) => [...keys].filter(key => !isThere(key)).map(key => `${flag} ${key}`))
  const isAllSkipped = machines.length > 0 && machines.every(machine => isSkipped(machine, mapping))
  return [
    ...unknown.map(what => said(`${what}: there is no such machine in the source`, 'Write it as the source does.')),
    ...(isAllSkipped ? [said('every machine is skipped', 'Skip fewer of them.')] : []),
    ...(machines.length === 0 ? [said('there are no machines in the source', 'Name other files.')] : []),
  ]
}

const said = (message: string, fix: string): Finding => ({
  id: 'MachineUnknown',
  severity: 'error',
  machine: '',
  nic: '',
  message,
  fix,
})
