// A stand-in for a vCenter, in memory: one datacenter with one folder, one resource pool, one datastore, two networks and one template;
// virtual machines that are cloned, told, powered and destroyed by tasks that take time. It answers as the real one does where Mooring
// asks it, and keeps the real one's rules: a name is in a folder once, what runs is not destroyed. A test may let answers be lost, and
// let tasks fail. It counts every virtual machine that ever was.

import type { Clock } from '../../src/runtime/clock.ts'
import type { VSphereClient } from '../../src/vsphere/client.ts'
import { VimFault, VSphereConnectionError } from '../../src/vsphere/fault.ts'
import type { RESTRequest } from '../../src/vsphere/rest.ts'
import { keyOfRef, type ManagedRef, toRef, type VimFields, type VimValue } from '../../src/vsphere/value.ts'
import { escapeXML, parseXML, type XMLElement } from '../../src/xml.ts'

export interface StandInVM {
  readonly id: string
  readonly name: string
  readonly instanceUuid: string
  powerState: 'poweredOn' | 'poweredOff'
  readonly extraConfig: Map<string, string>
  readonly macs: readonly string[]
  /** Ids. */
  readonly tags: Set<string>
  /** What its guest reports; by default the addresses of its kernel arguments. */
  guestIPs?: readonly string[]
}

/** What is said about tags. */
interface Tagging {
  readonly id?: string
  readonly object_id?: { readonly id: string }
  readonly tag_ids?: readonly string[]
}

interface Task {
  readonly id: string
  readonly method: string
  readonly entity: string
  readonly queuedAtMs: number
  readonly endsAtMs: number
  readonly run: () => string | VimFault
  readonly fault: string | undefined
  outcome?: string | VimFault
}

export class StandInVCenter {
  readonly #clock: Clock
  readonly #vms = new Map<string, StandInVM>()
  readonly #tasks = new Map<string, Task>()
  #ids = 0
  /** Every clone that was made, by its instance UUID, in order. */
  readonly cloned: string[] = []
  readonly destroyed: string[] = []
  /** Every call, by its method. */
  readonly asked: string[] = []
  taskMs = 500
  /** Such calls are carried out, and the client is not told. */
  losesAnswer: (method: string) => boolean = () => false
  /** Such calls do not arrive. */
  losesCall: (method: string) => boolean = () => false
  /** What becomes of the next task alone. */
  nextTask: { readonly fault?: string; readonly ms?: number } = {}
  /** Such tasks fail with this fault. */
  failsTask: (method: string) => string | undefined = () => undefined
  /** Ids of the tags that there are. */
  readonly tags = new Set<string>()
  /** Logins are refused. */
  refusesLogin = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get vms(): readonly StandInVM[] {
    this.#runDue()
    return [...this.#vms.values()]
  }

  named(name: string): StandInVM | undefined {
    return this.vms.find(vm => vm.name === name)
  }

  addVM(name: string, instanceUuid: string, cards = 1): StandInVM {
    const id = `vm-${++this.#ids}`
    const macs = Array.from({ length: cards }, (_, i) => `00:50:56:00:${hex(this.#ids)}:${hex(i)}`)
    const vm: StandInVM = {
      id,
      name,
      instanceUuid,
      powerState: 'poweredOff',
      extraConfig: new Map(),
      macs,
      tags: new Set(),
    }
    this.#vms.set(id, vm)
    return vm
  }

  removeVM(name: string): void {
    for (const [id, vm] of this.#vms) if (vm.name === name) this.#vms.delete(id)
  }

  connect = async (): Promise<VSphereClient> => {
    if (this.refusesLogin) throw refused()
    return {
      host: 'vcenter.example',
      about: { fullName: 'a stand-in', apiVersion: '8.0', apiType: 'VirtualCenter' },
      content: {
        rootFolder: toRef('Folder', 'root'),
        propertyCollector: toRef('PropertyCollector', 'pc'),
        viewManager: toRef('ViewManager', 'vm'),
        sessionManager: toRef('SessionManager', 'sm'),
        searchIndex: toRef('SearchIndex', 'si'),
      },
      sessions: 1,
      call: async (method, target, args = {}) => this.#call(method, target, args),
      rest: async request => this.#rest(request),
      waitForTask: () => Promise.reject(new Error('passes do not wait for tasks')),
      close: async () => {},
    }
  }

  #call(method: string, target: ManagedRef, args: VimFields): XMLElement[] {
    this.#runDue()
    this.asked.push(method)
    const lost = () => new VSphereConnectionError(`${method} at vcenter.example: the connection failed`)
    if (this.losesCall(method)) throw lost()
    const answer = this.#answer(method, target, args)
    if (this.losesAnswer(method)) throw lost()
    return answer === undefined ? [] : [parseXML(answer)]
  }

  /** Answers and requests are lost as those of calls are, by the name of what is asked. */
  #rest({ path, body }: RESTRequest): unknown {
    this.#runDue()
    // Its session begins with the first call.
    if (this.refusesLogin) this.asked.push('session')
    if (this.refusesLogin) throw refused()
    const [, id = '', action = ''] = /^\/tagging\/(?:tag\/id:(.*)|tag-association\?~action=(.*))$/.exec(path) ?? []
    const method = action || 'get-tag'
    this.asked.push(method)
    const lost = () => new VSphereConnectionError(`${method} at vcenter.example: the connection failed`)
    if (this.losesCall(method)) throw lost()
    const answer = this.#tagging(method, { id, ...(body as Tagging) })
    if (this.losesAnswer(method)) throw lost()
    return answer
  }

  #tagging(method: string, { id = '', object_id, tag_ids = [] }: Tagging): unknown {
    const vm = this.#vms.get(object_id?.id ?? '')
    if (method === 'list-attached-tags') return [...(vm?.tags ?? [])]
    const unknown = [...(id === '' ? [] : [id]), ...tag_ids].find(one => !this.tags.has(one))
    if (method === 'get-tag' && unknown !== undefined) throw new VimFault(`${unknown} is not there`, 'not_found')
    if (method === 'get-tag') return { id }
    if (unknown !== undefined) return { success: false, error_messages: [{ default_message: `${unknown} not found` }] }
    for (const tag of tag_ids) vm?.tags.add(tag)
    return { success: true }
  }

  #answer(method: string, target: ManagedRef, args: VimFields): string | undefined {
    if (method === 'CurrentTime') return value('xsd:dateTime', new Date(this.#clock.now()).toISOString())
    if (method === 'FindByUuid') return refText(this.vms.find(vm => vm.instanceUuid === args.uuid)?.id)
    if (method === 'FindChild') return this.#child(args.entity as ManagedRef, String(args.name))
    if (method === 'RetrievePropertiesEx') return this.#properties(args)
    if (method === 'CreateContainerView') return '<returnval type="ContainerView">view</returnval>'
    if (method === 'DestroyView') return undefined
    if (method.endsWith('_Task')) return this.#order(method, target.ref.value, args)
    throw new Error(`the stand-in does not know ${method}`)
  }

  #child(entity: ManagedRef, name: string): string | undefined {
    const child = children[keyOfRef(entity)]?.[name]
    if (child !== undefined) return `<returnval type="${child.ref.type}">${child.ref.value}</returnval>`
    if (keyOfRef(entity) === 'Folder:c1') return refText(this.named(name)?.id)
    return undefined
  }

  #properties({ specSet }: VimFields): string {
    const spec = fieldsOf(specSet)
    const named = listOf(spec.objectSet).map(one => fieldsOf(one).obj as ManagedRef)
    const inView = [template, ...this.vms].map(({ id }) => toRef('VirtualMachine', id))
    const objects = named.flatMap(ref => (ref.ref.type === 'ContainerView' ? inView : [ref]))
    const paths = listOf(spec.propSet).flatMap(one => listOf(fieldsOf(one).pathSet).map(String))
    const all = objects.map(ref => {
      const known = this.#propertiesOf(ref)
      if (known === undefined)
        throw new VimFault(`${keyOfRef(ref)} has been deleted (ManagedObjectNotFound)`, 'ManagedObjectNotFound')
      const sets = paths.flatMap(path => {
        const text = known[path]
        return text === undefined ? [] : [`<propSet><name>${path}</name>${text}</propSet>`]
      })
      return `<objects><obj type="${ref.ref.type}">${ref.ref.value}</obj>${sets.join('')}</objects>`
    })
    return `<returnval ${xsi}>${all.join('')}</returnval>`
  }

  #propertiesOf({ ref: { type, value: id } }: ManagedRef): Readonly<Record<string, string>> | undefined {
    if (type === 'Task') return this.#taskProperties(this.#tasks.get(id))
    if (type !== 'VirtualMachine') return inventory[`${type}:${id}`] ?? {}
    if (id === 'rhcos') return { ...machineText(template), recentTask: this.#recentTasks() }
    const vm = this.#vms.get(id)
    return vm && machineText(vm)
  }

  #recentTasks(): string {
    const refs = [...this.#tasks.values()].filter(({ entity }) => entity === 'rhcos')
    return `<val>${refs.map(({ id }) => `<ManagedObjectReference type="Task">${id}</ManagedObjectReference>`).join('')}</val>`
  }

  #taskProperties(task: Task | undefined): Readonly<Record<string, string>> | undefined {
    if (task === undefined) return undefined
    const { outcome, method, queuedAtMs } = task
    const state = outcome === undefined ? 'running' : outcome instanceof VimFault ? 'error' : 'success'
    const error =
      outcome instanceof VimFault
        ? `<error><fault xsi:type="${outcome.fault}"/><localizedMessage>${escapeXML(outcome.message)}</localizedMessage></error>`
        : ''
    const id = method === 'CloneVM_Task' ? 'VirtualMachine.clone' : `VirtualMachine.${method}`
    const queued = new Date(queuedAtMs).toISOString()
    return {
      info: `<val><descriptionId>${id}</descriptionId><state>${state}</state><queueTime>${queued}</queueTime>${error}</val>`,
    }
  }

  #order(method: string, target: string, args: VimFields): string {
    const id = `task-${++this.#ids}`
    const nowMs = this.#clock.now()
    const run = () => this.#run(method, target, args)
    const { fault, ms = this.taskMs } = this.nextTask
    this.nextTask = {}
    this.#tasks.set(id, { id, method, entity: target, queuedAtMs: nowMs, endsAtMs: nowMs + ms, run, fault })
    return `<returnval type="Task">${id}</returnval>`
  }

  #runDue(): void {
    const due = [...this.#tasks.values()].filter(
      task => task.outcome === undefined && task.endsAtMs <= this.#clock.now(),
    )
    for (const task of due) {
      const fault = task.fault ?? this.failsTask(task.method)
      task.outcome = fault === undefined ? task.run() : new VimFault(`it failed (${fault})`, fault)
    }
  }

  #run(method: string, target: string, args: VimFields): string | VimFault {
    if (method === 'CloneVM_Task') return this.#clone(args)
    const vm = this.#vms.get(target)
    if (vm === undefined) return new VimFault('it has been deleted', 'ManagedObjectNotFound')
    const isOn = vm.powerState === 'poweredOn'
    if (method === 'ReconfigVM_Task') setOptions(vm, fieldsOf(args.spec).extraConfig)
    else if (method === 'Destroy_Task') {
      if (isOn) return new VimFault('it runs', 'InvalidPowerState')
      this.#vms.delete(target)
      this.destroyed.push(vm.instanceUuid)
    } else if (method === (isOn ? 'PowerOnVM_Task' : 'PowerOffVM_Task'))
      return new VimFault('it is so', 'InvalidPowerState')
    else vm.powerState = isOn ? 'poweredOff' : 'poweredOn'
    return target
  }

  #clone(args: VimFields): string | VimFault {
    const name = String(args.name)
    if ([...this.#vms.values()].some(vm => vm.name === name)) return new VimFault(`${name} is there`, 'DuplicateName')
    const config = fieldsOf(fieldsOf(args.spec).config)
    const cards = listOf(config.deviceChange).filter(change => (change as { of: VimFields }).of.operation === 'add')
    const vm = this.addVM(name, String(config.instanceUuid), cards.length)
    setOptions(vm, config.extraConfig)
    this.cloned.push(vm.instanceUuid)
    return vm.id
  }
}

const refused = () => new VimFault('vcenter.example refuses the user "u": check user name and password', 'InvalidLogin')

const xsi = 'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'
const hex = (n: number): string => (n & 255).toString(16).padStart(2, '0')
const value = (type: string, text: string): string => `<returnval ${xsi} xsi:type="${type}">${text}</returnval>`
const refText = (id: string | undefined): string | undefined =>
  id === undefined ? undefined : `<returnval type="VirtualMachine">${id}</returnval>`

const fieldsOf = (of: VimValue | undefined): VimFields => {
  if (typeof of !== 'object' || Array.isArray(of)) return {}
  if ('fields' in of) return of.fields
  return 'of' in of && typeof of.of === 'object' ? of.of : {}
}

const listOf = (of: VimValue | undefined): VimValue[] => (of === undefined ? [] : Array.isArray(of) ? of : [of])

function setOptions(vm: StandInVM, options: VimValue | undefined): void {
  for (const option of listOf(options)) {
    const { key, value: of } = fieldsOf(option)
    vm.extraConfig.set(String(key), String((of as { of: string }).of))
  }
}

const children: Readonly<Record<string, Readonly<Record<string, ManagedRef>>>> = {
  'Folder:root': { dc: toRef('Datacenter', 'dc') },
  'Datacenter:dc': { vm: toRef('Folder', 'vms'), host: toRef('Folder', 'hosts') },
  'Folder:vms': { c1: toRef('Folder', 'c1'), rhcos: toRef('VirtualMachine', 'rhcos') },
  'Folder:hosts': { cluster: toRef('ClusterComputeResource', 'cluster') },
  'ClusterComputeResource:cluster': { Resources: toRef('ResourcePool', 'pool') },
}

const refs = (type: string, ...ids: string[]): string =>
  `<val>${ids.map(id => `<ManagedObjectReference type="${type}">${id}</ManagedObjectReference>`).join('')}</val>`

const inventory: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'Datacenter:dc': {
    vmFolder: '<val type="Folder">vms</val>',
    datastore: refs('Datastore', 'ds'),
    network: refs('Network', 'lab', 'storage'),
  },
  'Datastore:ds': { name: '<val>ds</val>' },
  'Network:lab': { name: '<val>lab</val>' },
  'Network:storage': { name: '<val>storage</val>' },
}

const template: StandInVM = {
  id: 'rhcos',
  name: 'rhcos',
  instanceUuid: 'template',
  powerState: 'poweredOff',
  extraConfig: new Map(),
  macs: ['00:50:56:ff:ff:ff'],
  tags: new Set(),
}

function machineText(vm: StandInVM): Readonly<Record<string, string>> {
  const options = [...vm.extraConfig].map(
    ([key, text]) => `<OptionValue><key>${escapeXML(key)}</key><value>${escapeXML(text)}</value></OptionValue>`,
  )
  const cards = vm.macs.map(
    (mac, i) =>
      `<VirtualDevice xsi:type="VirtualVmxnet3"><key>${4000 + i}</key><macAddress>${mac}</macAddress></VirtualDevice>`,
  )
  const ips = vm.powerState === 'poweredOn' ? (vm.guestIPs ?? kernelIPs(vm)) : []
  return {
    name: `<val>${vm.name}</val>`,
    'config.instanceUuid': `<val>${vm.instanceUuid}</val>`,
    'config.uuid': `<val>bios-${vm.instanceUuid}</val>`,
    'config.extraConfig': `<val>${options.join('')}</val>`,
    'config.hardware.device': `<val>${cards.join('')}</val>`,
    'runtime.powerState': `<val>${vm.powerState}</val>`,
    'runtime.connectionState': '<val>connected</val>',
    'guest.net': `<val><GuestNicInfo>${ips.map(ip => `<ipAddress>${ip}</ipAddress>`).join('')}</GuestNicInfo></val>`,
  }
}

/** What Afterburn and NetworkManager make of the kernel arguments. */
function kernelIPs({ extraConfig }: StandInVM): string[] {
  const kargs = extraConfig.get('guestinfo.afterburn.initrd.network-kargs') ?? ''
  return [...kargs.matchAll(/(?:^| )ip=(?:\[([0-9a-f:]+)\]|([0-9.]+)):/g)].map(([, six, four]) => six ?? four ?? '')
}
