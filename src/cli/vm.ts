// `mooring vm`: virtual machines of KubeVirt, for people without virtctl. Works on any cluster, by the fields that KubeVirt itself
// reads, so it needs none of its subresources. What is so already is said, and is no mistake.
//
//   runStrategy         start                    stop                     restart
//   Always              it runs already          Halted                   the instance is deleted
//   Halted              Always                   it is stopped already    refused
//   Manual, Rerun...    a request in the status  a request in the status  both requests

import { interfacesAnnotation } from '../api/names.ts'
import { isRecord } from '../api/shape.ts'
import { virtualMachineInstances, virtualMachines } from '../controllers/vm/kinds.ts'
import { ApiError } from '../kube/api-error.ts'
import { Cache } from '../kube/cache.ts'
import type { Client } from '../kube/client.ts'
import { defineKind, type Kind, type KubeObject, type ObjectRef } from '../kube/object.ts'
import { Reflector } from '../kube/reflector.ts'
import { type Clock, realClock } from '../runtime/clock.ts'
import { describeError, type Log } from '../telemetry/log.ts'
import { connect } from './connect.ts'
import { exitCodes, Failure } from './failure.ts'
import { shown } from './table.ts'

export interface VMOptions {
  /** Empty for that of the context. */
  readonly namespace: string
  readonly allNamespaces?: boolean
  readonly wait?: boolean
  readonly kubeconfig?: string
  readonly context?: string
}

export type VMVerb = 'start' | 'stop' | 'restart' | 'migrate' | 'delete'

export interface VMTools {
  readonly client: Client
  readonly clock: Clock
  readonly namespace: string
  /** How long `--wait` waits. */
  readonly waitMs?: number
}

interface VM extends KubeObject {
  readonly spec?: { readonly runStrategy?: string; readonly running?: boolean }
  readonly status?: {
    readonly printableStatus?: string
    readonly ready?: boolean
    readonly stateChangeRequests?: readonly object[] | null
  }
}

interface VMI extends KubeObject {
  readonly status?: {
    readonly phase?: string
    readonly nodeName?: string
    readonly conditions?: readonly { readonly type: string; readonly status: string; readonly message?: string }[]
  }
}

interface VMIM extends KubeObject {
  readonly spec: { readonly vmiName: string }
  readonly status?: { readonly phase?: string; readonly migrationState?: { readonly failureReason?: string } }
}

const vms: Kind<VM> = virtualMachines
const vmis: Kind<VMI> = virtualMachineInstances
const vmims = defineKind<VMIM>({
  group: 'kubevirt.io',
  versions: ['v1'],
  plural: 'virtualmachineinstancemigrations',
  kind: 'VirtualMachineInstanceMigration',
  namespaced: true,
})

const waitedMs = 5 * 60_000

export async function vmList(options: VMOptions, print: (text: string) => void): Promise<void> {
  await withTools(options, tools => listWith(tools, options.allNamespaces === true, print))
}

export async function vm(verb: VMVerb, name: string, options: VMOptions, print: (text: string) => void): Promise<void> {
  await withTools(options, tools => actWith(tools, verb, name, options.wait === true, print))
}

async function withTools(options: VMOptions, act: (tools: VMTools) => Promise<void>): Promise<void> {
  const connected = connect(options, 'mooring-vm')
  const namespace = options.namespace || connected.namespace
  try {
    await act({ client: connected.client, clock: realClock, namespace })
  } finally {
    await connected.close()
  }
}

// --- list ---

export async function listWith(tools: VMTools, isEverywhere: boolean, print: (text: string) => void): Promise<void> {
  const { client } = tools
  const place = isEverywhere ? {} : { namespace: tools.namespace }
  const [machines, instances] = await answered(Promise.all([client.list(vms, place), client.list(vmis, place)]))
  const nodes = new Map(
    instances.items.map(({ metadata, status }) => [`${metadata.namespace}/${metadata.name}`, status?.nodeName]),
  )
  if (machines.items.length === 0) {
    print(isEverywhere ? 'no virtual machines' : `no virtual machines in namespace ${tools.namespace}`)
    return
  }
  const head = ['VM', 'STATUS', 'NODE', 'INTERFACES']
  const rows = machines.items.map(({ metadata, status }) => [
    ...(isEverywhere ? [metadata.namespace ?? ''] : []),
    metadata.name ?? '',
    status?.printableStatus ?? '-',
    nodes.get(`${metadata.namespace}/${metadata.name}`) ?? '-',
    interfacesOf(metadata.annotations?.[interfacesAnnotation]) || '-',
  ])
  print(toTable([isEverywhere ? ['NAMESPACE', ...head] : head, ...rows]))
}

/** `net1=10.0.0.5/24,fd00::5/64 net2=10.1.0.5/24`; what cannot be read is left out. */
function interfacesOf(text: string | undefined): string {
  const list = readJSON(text)
  const shown = (Array.isArray(list) ? list : []).filter(isRecord).map(({ interfaceName, ips }) => {
    const addresses = Array.isArray(ips) ? ips.filter(ip => typeof ip === 'string').join(',') : ''
    return typeof interfaceName === 'string' ? `${interfaceName}=${addresses || '-'}` : ''
  })
  return shown.filter(text => text !== '').join(' ')
}

function readJSON(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? '')
  } catch {
    return undefined
  }
}

function toTable(rows: readonly (readonly string[])[]): string {
  const columns = rows[0]?.map((_, i) => i) ?? []
  const widths = columns.map(i => Math.max(...rows.map(row => (row[i] ?? '').length)))
  const lines = rows.map(row => row.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join('  '))
  return lines.map(line => line.trimEnd()).join('\n')
}

// --- one machine ---

interface Found {
  readonly ref: { readonly namespace: string; readonly name: string }
  readonly machine: VM
  readonly instance: VMI | undefined
}

export async function actWith(
  tools: VMTools,
  verb: VMVerb,
  name: string,
  isWaiting: boolean,
  print: (text: string) => void,
): Promise<void> {
  const { client, namespace } = tools
  if (!/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(name)) {
    const what = `${JSON.stringify(name)} is not the name of a virtual machine`
    throw new Failure(
      exitCodes.usage,
      what,
      'Write lower-case letters, digits, "-" and "."; the namespace goes into -n.',
    )
  }
  const ref = { namespace, name }
  const machine = await answered(client.get(vms, ref))
  if (machine === undefined) {
    throw refused(
      `there is no virtual machine ${name} in namespace ${namespace}`,
      'mooring vm list shows which there are.',
    )
  }
  const found: Found = { ref, machine, instance: await answered(client.get(vmis, ref)) }
  const { said, until } = await answered(acts[verb](client, found))
  print(said)
  if (!isWaiting) return
  print(await until(tools))
}

interface Done {
  readonly said: string
  /** What `--wait` waits for; answers what has become of it. */
  readonly until: (tools: VMTools) => Promise<string>
}

const acts: Readonly<Record<VMVerb, (client: Client, found: Found) => Promise<Done>>> = {
  start,
  stop,
  restart,
  migrate,
  delete: remove,
}

async function start(client: Client, found: Found): Promise<Done> {
  const { machine, instance } = found
  const { name } = found.ref
  const until = untilRunning(found.ref, undefined)
  if (instance !== undefined && !isOver(instance)) return { said: `${name} runs already`, until }
  switch (strategyOf(machine)) {
    case 'Always':
      return { said: `${name} is about to run: its run strategy is Always`, until }
    case 'Halted':
      await client.mergePatch(vms, found.ref, { spec: switched(machine, true) }, decidedOn(machine))
      return { said: `${name} starts`, until }
    default:
      await ask(client, found, [...stopRequest(instance), { action: 'Start' }])
      return { said: `${name} starts`, until }
  }
}

async function stop(client: Client, found: Found): Promise<Done> {
  const { machine, instance } = found
  const { name } = found.ref
  const until = untilGone(vmis, found.ref, `${name} is stopped`)
  switch (strategyOf(machine)) {
    case 'Halted':
      return { said: instance === undefined ? `${name} is stopped already` : `${name} stops already`, until }
    case 'Always':
      await client.mergePatch(vms, found.ref, { spec: switched(machine, false) }, decidedOn(machine))
      return { said: `${name} stops`, until }
    default:
      if (instance === undefined) return { said: `${name} is stopped already`, until }
      await ask(client, found, stopRequest(instance))
      return { said: `${name} stops`, until }
  }
}

async function restart(client: Client, found: Found): Promise<Done> {
  const { machine, instance, ref } = found
  if (strategyOf(machine) === 'Halted') {
    throw refused(`${ref.name} is halted`, `Start it with mooring vm start ${ref.name} -n ${ref.namespace}.`)
  }
  const { uid } = running(found).metadata
  if (strategyOf(machine) === 'Always') {
    await client.delete(vmis, ref, uid === undefined ? {} : { uid })
  } else await ask(client, found, [...stopRequest(instance), { action: 'Start' }])
  return { said: `${ref.name} restarts`, until: untilRunning(ref, uid) }
}

async function migrate(client: Client, found: Found): Promise<Done> {
  const { namespace, name } = found.ref
  const instance = running(found)
  if (instance.status?.phase !== 'Running') {
    throw refused(
      `${name} does not run yet: its phase is ${instance.status?.phase ?? 'not known'}`,
      'Wait until it runs.',
    )
  }
  const ready = instance.status.conditions?.find(({ type }) => type === 'Ready')
  if (ready !== undefined && ready.status !== 'True') {
    const why = ready.message ? `: ${shown(ready.message)}` : ''
    throw refused(
      `${name} runs and is not ready${why}`,
      'Wait until it is, or create a VirtualMachineInstanceMigration.',
    )
  }
  const made = await client.create(vmims, {
    apiVersion: 'kubevirt.io/v1',
    kind: 'VirtualMachineInstanceMigration',
    metadata: { generateName: 'mooring-migrate-', namespace },
    spec: { vmiName: name },
  })
  const ref = { namespace, name: made.metadata.name ?? '' }
  return {
    said: `${name} moves to another node: VirtualMachineInstanceMigration ${ref.name}`,
    until: untilMoved(name, ref),
  }
}

async function remove(client: Client, { ref, machine }: Found): Promise<Done> {
  const { uid } = machine.metadata
  await client.delete(vms, ref, uid === undefined ? {} : { uid })
  return { said: `${ref.name} is being deleted`, until: untilGone(vms, ref, `${ref.name} is gone`) }
}

/** `running` is the older way to say Always or Halted. */
function strategyOf({ spec }: VM): string {
  return spec?.runStrategy ?? (spec?.running === true ? 'Always' : 'Halted')
}

function switched({ spec }: VM, isOn: boolean): object {
  return spec?.runStrategy === undefined ? { running: isOn } : { runStrategy: isOn ? 'Always' : 'Halted' }
}

/** Its process has ended. */
const isOver = ({ status }: VMI): boolean => status?.phase === 'Succeeded' || status?.phase === 'Failed'

function running({ instance, ref }: Found): VMI {
  if (instance !== undefined && !isOver(instance)) return instance
  throw refused(`${ref.name} does not run`, `Start it with mooring vm start ${ref.name} -n ${ref.namespace}.`)
}

const stopRequest = (instance: VMI | undefined): object[] =>
  instance === undefined ? [] : [{ action: 'Stop', uid: instance.metadata.uid }]

/** What the subresources of KubeVirt write. */
async function ask(client: Client, { ref, machine }: Found, stateChangeRequests: readonly object[]): Promise<void> {
  const options = { subresource: 'status', ...decidedOn(machine) } as const
  await client.mergePatch(vms, ref, { status: { stateChangeRequests } }, options)
}

const decidedOn = ({ metadata: { uid, resourceVersion } }: KubeObject) => ({
  ...(uid !== undefined && { uid }),
  ...(resourceVersion !== undefined && { resourceVersion }),
})

// --- waiting ---

const untilRunning =
  (ref: ObjectRef, before: string | undefined) =>
  async (tools: VMTools): Promise<string> => {
    const isRunning = (vmi: VMI | undefined) => vmi?.status?.phase === 'Running' && vmi.metadata.uid !== before
    const vmi = await waitFor(tools, vmis, ref, isRunning, `${ref.name} does not run`)
    return `${ref.name} runs on ${vmi?.status?.nodeName ?? 'a node that is not named'}`
  }

const untilGone =
  (kind: Kind, ref: ObjectRef, said: string) =>
  async (tools: VMTools): Promise<string> => {
    await waitFor(tools, kind, ref, object => object === undefined, `${ref.name} is still there`)
    return said
  }

const untilMoved =
  (name: string, ref: ObjectRef) =>
  async (tools: VMTools): Promise<string> => {
    const isOverNow = (one: VMIM | undefined) =>
      one === undefined || ['Succeeded', 'Failed'].includes(one.status?.phase ?? '')
    const over = await waitFor(tools, vmims, ref, isOverNow, `${name} still moves`)
    if (over?.status?.phase === 'Succeeded') return `${name} has moved`
    const why = over?.status?.migrationState?.failureReason
    const what = `${name} has not moved: the migration ${over === undefined ? 'was deleted' : 'failed'}`
    throw refused(why ? `${what}: ${shown(why)}` : what, `${name} runs where it was. Say this again to try again.`)
  }

const quiet: Log = { debug() {}, info() {}, error() {}, with: () => quiet }

async function waitFor<T extends KubeObject>(
  { client, clock, waitMs = waitedMs }: VMTools,
  kind: Kind<T>,
  { namespace = '', name }: ObjectRef,
  isSo: (object: T | undefined) => boolean,
  otherwise: string,
): Promise<T | undefined> {
  const key = `${namespace}/${name}`
  const cache = new Cache<T>()
  const options = { kind, cache, client, clock, random: Math.random, log: quiet, namespace }
  const reflector = new Reflector<T>({ ...options, fieldSelector: `metadata.name=${name}` })
  let cancel = () => {}
  try {
    return await new Promise<T | undefined>((resolve, reject) => {
      const look = () => {
        if (cache.hasSynced && isSo(cache.get(key))) resolve(cache.get(key))
      }
      cancel = clock.setTimer(waitMs, () => {
        const advice = 'It goes on without this command: mooring vm list shows how far it is.'
        reject(new Failure(exitCodes.environment, `${otherwise} after ${waitMs / 1000} seconds`, advice))
      })
      cache.subscribe(look)
      void cache.synced().then(look)
      reflector.start()
    })
  } finally {
    cancel()
    await reflector.stop('not-needed')
  }
}

// --- words ---

const refused = (what: string, advice: string): Failure => new Failure(exitCodes.refused, what, advice)

async function answered<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    throw new Failure(exitCodes.environment, describeError(error), adviceFor(error), { cause: error })
  }
}

function adviceFor({ reason }: ApiError): string {
  switch (reason) {
    case 'NotInstalled':
      return 'KubeVirt is not installed there; a mooring up with the playground has its kinds too.'
    case 'Conflict':
      return 'It was changed at the same moment: say this again.'
    case 'Unauthorized':
    case 'Forbidden':
      return 'Check which user the kubeconfig names, and the permissions of that user.'
    default:
      return 'Check the server that the kubeconfig names.'
  }
}
