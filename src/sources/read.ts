// Files of any kind of source: bytes to text, and the reader of each kind.

import { quoteText } from '../ip/malformed.ts'
import { sourceFileCharsMax } from '../limits.ts'
import { Faults } from './faults.ts'
import { readGovc } from './govc.ts'
import { groupBy } from './group.ts'
import { readHyperV } from './hyperv.ts'
import type { SourceFault, SourceFile, SourceKind, SourceReading } from './machine.ts'
import { readOpenStack } from './openstack.ts'
import { readOVF } from './ovf.ts'
import { readProxmox } from './proxmox.ts'
import { readRVTools } from './rvtools.ts'
import { readVMX } from './vmx.ts'

/** A vCenter is asked, not read from a file: see vsphere.ts. */
export type FileKind = Exclude<SourceKind, 'vsphere'>

/** Takes all files of a kind at once: some of them belong together. */
export function readFiles(kind: FileKind, files: readonly SourceFile[]): SourceReading {
  const reading = readers[kind](files)
  return { ...reading, faults: [...reading.faults, ...repeated(reading)] }
}

const readers: Readonly<Record<FileKind, (files: readonly SourceFile[]) => SourceReading>> = {
  rvtools: readRVTools,
  govc: files => joined(files.map(readGovc)),
  vmx: files => joined(files.map(readVMX)),
  ovf: files => joined(files.map(readOVF)),
  openstack: readOpenStack,
  hyperv: readHyperV,
  proxmox: files => joined(files.map(readProxmox)),
}

function joined(readings: readonly SourceReading[]): SourceReading {
  return {
    machines: readings.flatMap(({ machines }) => machines),
    leftOut: readings.flatMap(({ leftOut }) => leftOut),
    faults: readings.flatMap(({ faults }) => faults),
  }
}

/** A machine that is given twice would take its own MACs and addresses from itself. */
function repeated({ machines }: SourceReading): SourceFault[] {
  const groups = groupBy(machines, ({ id, source: { instance = '' } }) => JSON.stringify([instance, id]))
  return [...groups.values()].flatMap(([first, second]) => {
    if (first === undefined || second === undefined) return []
    const faults = new Faults(second.source.from)
    const isOther = first.source.from !== second.source.from
    const where = isOther ? ` in ${quoteText(first.source.from)}` : ''
    const problem = `the machine ${quoteText(first.name)} (${quoteText(first.id)}) is there twice, first${where}`
    faults.add('', `${problem}: give each machine once, and export ids where two have one name`)
    return faults.list
  })
}

/** The text of a file: UTF-8, or UTF-16 as PowerShell writes it. A fault where it is an archive, or of no known encoding. */
export function decodeFile(
  name: string,
  bytes: Uint8Array,
): { readonly text: string } | { readonly fault: SourceFault } {
  const refuse = (problem: string): { fault: SourceFault } => {
    const faults = new Faults(name)
    faults.add('', problem)
    return { fault: faults.list[0] ?? { where: name, problem } }
  }
  const isAt = (at: number, ...wanted: readonly number[]): boolean => wanted.every((byte, i) => bytes[at + i] === byte)
  if (bytes.length > sourceFileCharsMax)
    return refuse(`it is longer than ${sourceFileCharsMax} bytes: give a smaller part`)
  if (isAt(0, 0x50, 0x4b, 3, 4)) return refuse('it is a workbook or a zip archive: export it as csv, or unpack it')
  if (isAt(257, 0x75, 0x73, 0x74, 0x61, 0x72))
    return refuse('it is an archive: take the .ovf file out of it with tar -xf')
  const encoding = isAt(0, 0xff, 0xfe) ? 'utf-16le' : isAt(0, 0xfe, 0xff) ? 'utf-16be' : 'utf-8'
  try {
    return { text: new TextDecoder(encoding, { fatal: true }).decode(bytes) }
  } catch {
    return refuse('it is not text in UTF-8: save it again as UTF-8')
  }
}
