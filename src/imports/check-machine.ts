// Checks of a machine as a whole: what its data rest on, and its name.

import { quoteText } from '../ip/malformed.ts'
import type { SourceMachine } from '../sources/machine.ts'
import { type PlannedMachine, sourceIdOf } from './cards.ts'
import type { Finding } from './finding.ts'
import { isVMName, type Mapping, targetForms } from './mapping.ts'
import { type ImportTarget, importedAs } from './target.ts'

export function checkMachine({ source, name, unmapped }: PlannedMachine, mapping: Mapping): Finding[] {
  const about = (finding: Omit<Finding, 'machine' | 'nic'>, nic = ''): Finding => ({
    ...finding,
    machine: source.name,
    nic,
  })
  const findings = unmapped.map(nic => {
    const { network = nic.networkId } = nic
    const where = network === undefined ? 'nothing that the source can name' : quoteText(network)
    const key = network ?? nic.mac ?? nic.key
    return about(
      {
        id: 'NicNetworkUnmapped',
        severity: 'error',
        message: `the card is connected to ${where}, which is not mapped`,
        fix: `Add --map ${quoteText(`${key}=TARGET`)}; TARGET is ${targetForms}.`,
      },
      nic.key,
    )
  })
  if (source.powerState === 'off' || source.powerState === 'suspended') {
    const why = `the machine is ${source.powerState}: ${provenanceOf(source)}`
    findings.push(about({ id: 'VmPoweredOff', severity: 'warn', message: why, fix: freshFix }))
  }
  if (source.isAgentRunning === false) {
    const why = `the agent in the guest does not run: ${provenanceOf(source)}`
    findings.push(about({ id: 'ToolsNotRunning', severity: 'warn', message: why, fix: freshFix }))
  }
  for (const { reason, nic, message } of source.notes) {
    if (reason === 'SRIOV') {
      const fix = 'Map it to ignored, or expect an ordinary card in its place.'
      findings.push(about({ id: 'SriovNic', severity: 'warn', message, fix }, nic))
    }
    if (reason === 'MACMismatch' || reason === 'AllowedAddressPairs') {
      findings.push(about({ id: 'SourceNote', severity: 'warn', message, fix: 'Look at the guest.' }, nic))
    }
  }
  const isRenamed = !mapping.names.has(source.name) && !mapping.names.has(source.id)
  if (isRenamed && !isVMName(source.name)) {
    const message = `${quoteText(source.name)} is no name of a VirtualMachine: it is called ${name}`
    const fix = `Choose another with --name ${quoteText(`${source.name}=NAME`)}.`
    findings.push(about({ id: 'NameInvalid', severity: 'warn', message, fix }))
  }
  return findings
}

const freshFix = 'Compare the addresses with the guest, or start the machine and read the source again.'

function provenanceOf({ source, addressesFrom }: SourceMachine): string {
  const words = {
    'guest-agent': 'its addresses are the last that the agent in the guest told',
    platform: 'its addresses are those that the platform gave out',
    configuration: 'its addresses are those of its configuration',
    none: 'the source knows no addresses',
  }
  return `${words[addressesFrom]}, by ${source.from}${source.asOf === undefined ? '' : ` of ${source.asOf}`}`
}

export function checkNames(planned: readonly PlannedMachine[], mapping: Mapping, target: ImportTarget): Finding[] {
  return planned.flatMap(({ source, name }): Finding[] => {
    const common = { id: 'NameConflict', severity: 'error', machine: source.name, nic: '' } as const
    const fix = `Choose another with --name ${quoteText(`${source.name}=NAME`)}.`
    const same = planned.filter(other => other.source !== source && other.name === name)
    const there = target.machines.find(one => one.namespace === mapping.namespace && one.name === name)
    const isImported = importedAs(target, mapping.namespace, name, sourceIdOf(source))
    const inBatch = same.map(other => ({
      ...common,
      message: `${quoteText(other.source.name)} of ${other.source.source.from} would be called ${name} too`,
      fix,
    }))
    if (isImported) return [...inBatch, imported(source, `${mapping.namespace}/${name}`)]
    if (there === undefined) return inBatch
    const message = `there is a VirtualMachine ${mapping.namespace}/${name} already, which is not this machine`
    return [...inBatch, { ...common, message, fix }]
  })
}

const imported = ({ name }: SourceMachine, key: string): Finding => ({
  id: 'AlreadyImported',
  severity: 'info',
  machine: name,
  nic: '',
  message: `it is VirtualMachine ${key} already, which is left as it is`,
  fix: '',
})
