// Network namespaces as nodes and as guests. Two nodes have a wire between them, which ends in a bridge on each (`br0`), and a
// second one whose ends are cards (`up0`), for macvlan. Everything that plugins make is inside: it goes with the namespaces.
//
// CNI is called as a container runtime on that node would: `cnitool` in the namespace of the node, with a /var/lib of its own, where
// the library of runtimes keeps what it knows.

import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { mustRun, run, type Said } from '../install/run.ts'
import { type Kernel, thisKernel } from './kernel.ts'

export const pluginDirectory = '/usr/lib/cni'

export interface Tools {
  readonly cnitool: string
  /** Holds our plugin alone, as it comes before those of Debian. */
  readonly bin: string
  readonly dir: string
}

export interface Attachment {
  /** The path of the network namespace. */
  readonly netns: string
  readonly network: string
  readonly ifname?: string
  /** Goes into CNI_ARGS, as the kubelet's runtimes have it. */
  readonly pod?: { readonly namespace: string; readonly name: string; readonly uid: string }
  readonly capabilities?: object
}

export class Node {
  readonly name: string
  readonly netns: string
  readonly socket: string
  readonly dir: string
  readonly #tools: Tools
  readonly #kernel: Kernel
  /** Where plugins find `mooring node`. */
  readonly #reached: string

  /** `place`: the kernel that its namespaces are of, and where that one has the socket. */
  constructor(
    name: string,
    netns: string,
    tools: Tools,
    place?: { readonly kernel: Kernel; readonly reached: string },
  ) {
    this.#kernel = place?.kernel ?? thisKernel
    this.name = name
    this.netns = netns
    this.dir = join(tools.dir, name)
    this.socket = socketOf(name, tools)
    this.#reached = place?.reached ?? this.socket
    this.#tools = tools
    for (const folder of ['net.d', 'var-lib', 'state', 'bin']) mkdirSync(join(this.dir, folder), { recursive: true })
  }

  /** What Multus would hand to the plugins: the config of a NetworkAttachmentDefinition. */
  configure(network: string, config: object): void {
    writeFileSync(join(this.dir, 'net.d', `${network}.conflist`), JSON.stringify(config))
  }

  exec(...command: readonly string[]): Promise<string> {
    return mustRunIn(this.#kernel, 'ip', ['netns', 'exec', this.netns, ...command])
  }

  cni(verb: 'add' | 'check' | 'del' | 'gc' | 'status', attachment: Attachment): Promise<Said> {
    const { netns, network, ifname = 'net1', pod, capabilities } = attachment
    const { cnitool, bin } = this.#tools
    const args = pod === undefined ? [] : argsOf(attachment)
    const script = 'mount --bind "$0" /var/lib && exec "$@"'
    const inside = ['sh', '-c', script, join(this.dir, 'var-lib'), cnitool, verb, network, netns]
    return this.#kernel.run('ip', ['netns', 'exec', this.netns, ...inside], {
      env: {
        CNI_PATH: `${bin}:${pluginDirectory}`,
        NETCONFPATH: join(this.dir, 'net.d'),
        CNI_IFNAME: ifname,
        CNI_ARGS: args.join(';'),
        CAP_ARGS: capabilities === undefined ? '' : JSON.stringify(capabilities),
        MOORING_CNI_SOCKET: this.#reached,
      },
    })
  }

  /** Our plugin alone, as another plugin or a newer runtime calls it. */
  plugin(command: string, stdin: object | string, env: Readonly<Record<string, string>> = {}): Promise<Said> {
    return run(join(this.#tools.bin, 'mooring'), [], {
      input: typeof stdin === 'string' ? stdin : JSON.stringify(stdin),
      env: { CNI_COMMAND: command, CNI_PATH: this.#tools.bin, MOORING_CNI_SOCKET: this.socket, ...env },
    })
  }
}

export const socketOf = (node: string, { dir }: Tools): string => join(dir, node, 'cni.sock')

export async function mustRunIn(kernel: Kernel, program: string, args: readonly string[]): Promise<string> {
  const { code, out, err } = await kernel.run(program, args)
  if (code !== 0) throw new Error(`${program} ${args.join(' ')} ended with ${code}:\n${err || out}`)
  return out
}

export const argsOf = ({ pod }: Pick<Attachment, 'pod'>): string[] =>
  pod === undefined
    ? []
    : ['IgnoreUnknown=1', `K8S_POD_NAMESPACE=${pod.namespace}`, `K8S_POD_NAME=${pod.name}`, `K8S_POD_UID=${pod.uid}`]

/** All namespaces of this run, removed with it, however it ends. */
export class Namespaces {
  readonly #prefix = `mooring-cni-${process.pid}`
  readonly #made = new Set<string>()
  readonly #kernel: Kernel
  #count = 0

  constructor(kernel = thisKernel) {
    this.#kernel = kernel
  }

  async add(about: string): Promise<string> {
    const name = `${this.#prefix}-${about}-${this.#count++}`
    this.#made.add(name)
    await mustRunIn(this.#kernel, 'ip', ['netns', 'add', name])
    await mustRunIn(this.#kernel, 'ip', ['-n', name, 'link', 'set', 'lo', 'up'])
    return name
  }

  async remove(name: string): Promise<void> {
    if (this.#made.delete(name)) await this.#kernel.run('ip', ['netns', 'del', name])
  }

  /** Also on the way out of a process that is being ended. Those of another kernel go with it. */
  removeAll(): void {
    if (this.#kernel !== thisKernel) return
    for (const name of this.#made) spawnSync('ip', ['netns', 'del', name])
    this.#made.clear()
  }
}

export const pathOf = (netns: string): string => `/run/netns/${netns}`

export async function makeNodes(namespaces: Namespaces, tools: Tools): Promise<readonly [Node, Node]> {
  const [one, other] = [await namespaces.add('node'), await namespaces.add('node')]
  const ends = [one, other] as const
  await wire('wire0', ends)
  await wire('up0', ends)
  for (const netns of ends) {
    const ip = (...args: string[]) => mustRun('ip', ['-n', netns, ...args])
    await ip('link', 'add', 'br0', 'type', 'bridge')
    await ip('link', 'set', 'wire0', 'master', 'br0')
    for (const link of ['wire0', 'up0', 'br0']) await ip('link', 'set', link, 'up')
  }
  return [new Node('node-a', one, tools), new Node('node-b', other, tools)]
}

async function wire(name: string, [one, other]: readonly [string, string]): Promise<void> {
  await mustRun('ip', ['-n', one, 'link', 'add', name, 'type', 'veth', 'peer', 'name', name, 'netns', other])
}

/** `10.9.0.5/24` of the interface, as the kernel has them; addresses that it made by itself left out. */
export async function addressesIn(netns: string, ifname = 'net1', kernel = thisKernel): Promise<string[]> {
  const { code, out } = await kernel.run('ip', ['-n', netns, '-json', 'address', 'show', 'dev', ifname])
  if (code !== 0) return []
  interface Link {
    readonly addr_info: readonly { readonly local: string; readonly prefixlen: number; readonly scope: string }[]
  }
  return (JSON.parse(out) as Link[]).flatMap(({ addr_info }) =>
    addr_info.filter(({ scope }) => scope === 'global').map(({ local, prefixlen }) => `${local}/${prefixlen}`),
  )
}

/** Tries for some seconds: a bridge, and the search for duplicates of IPv6, take a moment. */
export async function ping(netns: string, address: string): Promise<void> {
  await mustRun('ip', ['netns', 'exec', netns, 'ping', '-n', '-c', '1', '-w', '10', address.replace(/\/.*/, '')])
}

export async function answersPing(netns: string, address: string): Promise<boolean> {
  const args = ['netns', 'exec', netns, 'ping', '-n', '-c', '1', '-w', '1', address.replace(/\/.*/, '')]
  return (await run('ip', args)).code === 0
}
