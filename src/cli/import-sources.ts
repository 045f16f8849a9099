// Where `mooring import plan` reads machines from: files that were exported, a vCenter as it is now, or both.

import { readFile, stat } from 'node:fs/promises'
import { extname } from 'node:path'
import { realClock } from '../runtime/clock.ts'
import type { SourceFault, SourceFile, SourceReading } from '../sources/machine.ts'
import { decodeFile, type FileKind, readFiles } from '../sources/read.ts'
import { readVSphere } from '../sources/vsphere.ts'
import { connectVSphere, type VSphereOptions } from '../vsphere/client.ts'
import { VimFault, VSphereConnectionError } from '../vsphere/fault.ts'
import { exitCodes, Failure, isErrno } from './failure.ts'

export interface SourceOptions {
  /** What the files are; undefined to go by their names. */
  readonly from?: string
  /** `https://vcenter.example`. */
  readonly vcenter?: string
  readonly vcenterUser?: string
  readonly vcenterPasswordFile?: string
  readonly vcenterCa?: string
  readonly vcenterThumbprint?: string
}

const fileKinds = ['rvtools', 'govc', 'vmx', 'ovf', 'openstack', 'hyperv', 'proxmox'] as const satisfies FileKind[]

const isFileKind = (text: string): text is FileKind => (fileKinds as readonly string[]).includes(text)

/** JSON comes from several platforms, so it is not told by its name. */
const kindsByExtension: Readonly<Record<string, FileKind>> = {
  '.vmx': 'vmx',
  '.ovf': 'ovf',
  '.csv': 'rvtools',
  '.conf': 'proxmox',
}

const kindOf = (name: string, from: string | undefined): FileKind | undefined =>
  from !== undefined && isFileKind(from) ? from : kindsByExtension[extname(name).toLowerCase()]

export function refuseSourceMistakes(files: readonly string[], options: SourceOptions): void {
  const usage = (what: string, advice: string): Failure => new Failure(exitCodes.usage, what, advice)
  const { from, vcenter, vcenterUser, vcenterPasswordFile } = options
  const all = fileKinds.join(', ')
  if (from !== undefined && !isFileKind(from)) {
    throw usage(`--from does not know ${JSON.stringify(from)}`, `It takes one of: ${all}.`)
  }
  const untold = files.find(name => kindOf(name, from) === undefined)
  if (untold !== undefined) {
    throw usage(`it cannot be told by its name what ${untold} is`, `Say --from with one of: ${all}.`)
  }
  if (files.length === 0 && vcenter === undefined) {
    throw usage('mooring import plan needs files or --vcenter', 'Name what was exported, or the vCenter to read.')
  }
  if (vcenter !== undefined && (vcenterUser === undefined || vcenterPasswordFile === undefined)) {
    throw usage('--vcenter needs --vcenter-user and --vcenter-password-file', 'A user who may only read will do.')
  }
}

export async function readSources(files: readonly string[], options: SourceOptions): Promise<SourceReading> {
  const readings = [await openFiles(files, options.from)]
  if (options.vcenter !== undefined) readings.push(await readVCenter(options.vcenter, options))
  return {
    machines: readings.flatMap(({ machines }) => machines),
    leftOut: readings.flatMap(({ leftOut }) => leftOut),
    faults: readings.flatMap(({ faults }) => faults),
  }
}

// --- files ---

async function openFiles(names: readonly string[], from: string | undefined): Promise<SourceReading> {
  const byKind = new Map<FileKind, SourceFile[]>()
  const faults: SourceFault[] = []
  for (const name of names) {
    const kind = kindOf(name, from)
    const read = await openSource(name)
    if ('problem' in read) faults.push(read)
    else if (kind !== undefined) byKind.set(kind, [...(byKind.get(kind) ?? []), read])
  }
  const readings = [...byKind].map(([kind, its]) => readFiles(kind, its))
  return {
    machines: readings.flatMap(({ machines }) => machines),
    leftOut: readings.flatMap(({ leftOut }) => leftOut),
    faults: [...faults, ...readings.flatMap(reading => reading.faults)],
  }
}

async function openSource(name: string): Promise<SourceFile | SourceFault> {
  const bytes = await bytesOf(name)
  const { mtime } = await stat(name)
  const decoded = decodeFile(name, bytes)
  return 'fault' in decoded ? decoded.fault : { name, text: decoded.text, writtenAt: mtime.toISOString() }
}

async function bytesOf(name: string): Promise<Buffer> {
  try {
    return await readFile(name)
  } catch (error) {
    if (!isErrno(error)) throw error
    const what = `${name} cannot be read (${error.code})`
    throw new Failure(exitCodes.environment, what, 'Name another file.', { cause: error })
  }
}

// --- vCenter ---

async function readVCenter(url: string, options: SourceOptions): Promise<SourceReading> {
  const { vcenterUser = '', vcenterPasswordFile = '', vcenterCa, vcenterThumbprint } = options
  const password = (await bytesOf(vcenterPasswordFile)).toString('utf8').replace(/\r?\n$/, '')
  const trust: Pick<VSphereOptions, 'ca' | 'thumbprint'> = {
    ...(vcenterCa !== undefined && { ca: (await bytesOf(vcenterCa)).toString('utf8') }),
    ...(vcenterThumbprint !== undefined && { thumbprint: vcenterThumbprint }),
  }
  try {
    const client = await connectVSphere({
      url,
      userName: vcenterUser,
      password,
      ...trust,
      clock: realClock,
      random: Math.random,
    })
    try {
      return await readVSphere(client, { asOf: new Date().toISOString() })
    } finally {
      await client.close()
    }
  } catch (error) {
    if (!(error instanceof VSphereConnectionError) && !(error instanceof VimFault)) throw error
    throw new Failure(exitCodes.environment, error.message, adviceFor(error), { cause: error })
  }
}

function adviceFor(error: VSphereConnectionError | VimFault): string {
  if (error instanceof VimFault) return 'Check --vcenter-user, its password, and what that user may read.'
  const { thumbprint } = error
  if (thumbprint === undefined) return 'Check --vcenter, and that it can be reached from here.'
  return `Compare it with what the vCenter shows of itself; if it is the same: --vcenter-thumbprint ${thumbprint}.`
}
