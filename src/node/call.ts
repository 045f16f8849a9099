// One call of the CNI plugin, as the forwarder passes it on: the variables of its environment, and what it read. The runtime sets
// the variables, which is root; the configuration is what any user of a namespace may have written in a
// NetworkAttachmentDefinition. What is wrong with either is answered by the codes of the specification.

import { isRecord, ownText } from '../api/shape.ts'
import { parseCIDR, toCIDRText } from '../ip/cidr.ts'
import { isMalformed, quoteText } from '../ip/malformed.ts'
import { JSONSyntaxError, parseJSON, showHidden } from '../json.ts'
import { CNIError, codes, hasVerb, type Verb, type Version, verbs, versions } from './spec.ts'

/** What the forwarder writes. */
export interface Request {
  readonly env: Readonly<Record<string, string>>
  readonly stdin: string
}

export interface Call {
  readonly verb: Exclude<Verb, 'VERSION'>
  readonly version: Version
  /** Of the network; it may be empty where the verb does not need it. */
  readonly network: string
  /** The three are empty for GC and STATUS. */
  readonly containerID: string
  readonly netns: string
  readonly ifname: string
  readonly pod: PodName | undefined
  /** With the lengths of their subnets; undefined where no result was passed on. */
  readonly previousIPs: readonly string[] | undefined
  /** Of GC: what the runtime still has. */
  readonly valid: readonly ValidAttachment[]
}

/** As the runtime names it. */
export interface PodName {
  readonly namespace: string
  readonly name: string
  /** Empty where an old runtime does not say it. */
  readonly uid: string
}

export interface ValidAttachment {
  readonly containerID: string
  readonly ifname: string
}

export interface VersionCall {
  readonly verb: 'VERSION'
  /** As asked; empty where nothing was. */
  readonly asked: string
}

/** The version that an answer is given in: that of the call, where one can be read. */
export function versionIn({ stdin }: Request): string {
  try {
    const { value } = parseJSON(stdin)
    const asked = isRecord(value) ? value.cniVersion : undefined
    return typeof asked === 'string' && isVersion(asked) ? asked : (versions.at(-1) ?? '')
  } catch {
    return versions.at(-1) ?? ''
  }
}

export function requestOf(text: string): Request {
  const { value } = decoded(text, 'the request of the forwarder')
  const env = isRecord(value) ? value.env : undefined
  const stdin = isRecord(value) ? value.stdin : undefined
  if (!isRecord(env) || typeof stdin !== 'string' || !Object.values(env).every(one => typeof one === 'string')) {
    throw new CNIError(codes.undecodable, 'the request of the forwarder has no env and stdin', 'install it again')
  }
  return { env: env as Readonly<Record<string, string>>, stdin }
}

export function readCall({ env, stdin }: Request): Call | VersionCall {
  const verb = verbOf(variable(env, 'CNI_COMMAND'))
  // The runtime may ask before it has a configuration.
  if (verb === 'VERSION') return { verb, asked: stdin.trim() === '' ? '' : textIn(configIn(stdin), 'cniVersion') }
  const config = configIn(stdin)
  const version = versionOf(config, verb)
  const network = textIn(config, 'name')
  const common = { verb, version, network, pod: undefined, previousIPs: undefined, valid: [] }
  if (verb === 'STATUS') return { ...common, containerID: '', netns: '', ifname: '' }
  if (verb === 'GC') {
    needName(network)
    return { ...common, containerID: '', netns: '', ifname: '', valid: validIn(config) }
  }
  const containerID = containerIn(env)
  const ifname = interfaceIn(env)
  const netns = variable(env, 'CNI_NETNS')
  if (netns === '' && verb !== 'DEL') throw missing('CNI_NETNS', verb)
  if (verb !== 'DEL') needName(network)
  const previousIPs = previousIn(config)
  if (verb === 'CHECK' && previousIPs === undefined) {
    throw new CNIError(codes.network, 'prevResult is missing', 'CHECK is asked with the result of the ADD before it')
  }
  return { ...common, containerID, netns, ifname, pod: podIn(variable(env, 'CNI_ARGS')), previousIPs }
}

const isVersion = (text: string): text is Version => (versions as readonly string[]).includes(text)
const variable = (env: Readonly<Record<string, string>>, name: string): string => ownText(env, name) ?? ''

function verbOf(text: string): Verb {
  const verb = verbs.find(one => one === text)
  if (verb !== undefined) return verb
  const what = text === '' ? 'CNI_COMMAND is missing' : `CNI_COMMAND is ${quoteText(text)}`
  throw new CNIError(codes.environment, what, `it is one of ${verbs.join(', ')}`)
}

function versionOf(config: Readonly<Record<string, unknown>>, verb: Verb): Version {
  const asked = textIn(config, 'cniVersion')
  const how = `write one of ${versions.join(', ')}`
  if (!isVersion(asked)) {
    const what = asked === '' ? 'cniVersion is missing' : `cniVersion ${quoteText(asked)} is not supported`
    throw new CNIError(codes.incompatibleVersion, what, how)
  }
  if (hasVerb(asked, verb)) return asked
  throw new CNIError(codes.incompatibleVersion, `version ${asked} has no ${verb}`, how)
}

function containerIn(env: Readonly<Record<string, string>>): string {
  const id = variable(env, 'CNI_CONTAINERID')
  if (id === '') throw missing('CNI_CONTAINERID')
  if (/^[A-Za-z0-9][A-Za-z0-9_.-]{0,255}$/.test(id)) return id
  throw wrong('CNI_CONTAINERID', id, 'it begins with a letter or digit, and has letters, digits and _ . - in it')
}

function interfaceIn(env: Readonly<Record<string, string>>): string {
  const name = variable(env, 'CNI_IFNAME')
  if (name === '') throw missing('CNI_IFNAME')
  // As Linux has it.
  if (name.length <= 15 && name !== '.' && name !== '..' && /^[^\s/:\p{Cc}]+$/u.test(name)) return name
  throw wrong('CNI_IFNAME', name, 'it is the name of an interface of at most 15 characters')
}

function needName(name: string): void {
  if (name === '') throw new CNIError(codes.network, 'name is missing', 'write the name of the network')
  if (/^[A-Za-z0-9][A-Za-z0-9_.-]*$/.test(name)) return
  const how = 'it begins with a letter or digit, and has letters, digits and _ . - in it'
  throw new CNIError(codes.network, `name ${quoteText(name)} is no name of a network`, how)
}

/** `IgnoreUnknown=1;K8S_POD_NAMESPACE=red;K8S_POD_NAME=web-0`; undefined where no pod is named. */
function podIn(text: string): PodName | undefined {
  const pairs = new Map<string, string>()
  for (const pair of text.split(';')) {
    if (pair.trim() === '') continue
    const at = pair.indexOf('=')
    if (at <= 0) throw wrong('CNI_ARGS', text, 'it is a list of KEY=VALUE with semicolons between')
    pairs.set(pair.slice(0, at).trim(), pair.slice(at + 1).trim())
  }
  const [namespace = '', name = ''] = [pairs.get('K8S_POD_NAMESPACE'), pairs.get('K8S_POD_NAME')]
  if (namespace === '' || name === '') return undefined
  const uid = pairs.get('K8S_POD_UID') ?? ''
  const wrongPart = [namespace, name, uid || 'none'].find(
    part => !/^[A-Za-z0-9]([-A-Za-z0-9_.]{0,251}[A-Za-z0-9])?$/.test(part),
  )
  if (wrongPart !== undefined) throw wrong('CNI_ARGS', wrongPart, 'it names namespace, name and uid of a pod')
  return { namespace, name, uid }
}

function validIn(config: Readonly<Record<string, unknown>>): readonly ValidAttachment[] {
  const [list] = ['cni.dev/valid-attachments', 'cni.dev/attachments'].flatMap(key => {
    const value = field(config, key)
    return value === undefined ? [] : [value]
  })
  const isWhole = (one: unknown): one is ValidAttachment =>
    isRecord(one) && typeof one.containerID === 'string' && typeof one.ifname === 'string'
  if (Array.isArray(list) && list.every(isWhole)) return list
  // So libcni writes the list of a runtime that has none.
  if (list === null) return []
  // An empty list lets go of everything: a missing one cannot be taken for it.
  const how = 'it lists containerID and ifname of each attachment that is to stay'
  throw new CNIError(codes.network, 'cni.dev/valid-attachments is missing, or no such list', how)
}

function previousIn(config: Readonly<Record<string, unknown>>): readonly string[] | undefined {
  const result = field(config, 'prevResult')
  if (result === undefined || result === null) return undefined
  const ips = isRecord(result) ? (field(result, 'ips') ?? []) : undefined
  if (!Array.isArray(ips)) throw new CNIError(codes.network, 'prevResult has no list of ips', 'it is what ADD answered')
  return ips.map(one => {
    const text = isRecord(one) && typeof one.address === 'string' ? one.address : ''
    const cidr = parseCIDR(text)
    if (isMalformed(cidr)) throw new CNIError(codes.network, 'prevResult.ips cannot be read', cidr.malformed)
    return toCIDRText(cidr)
  })
}

function configIn(stdin: string): Readonly<Record<string, unknown>> {
  const { value } = decoded(stdin, 'the network configuration')
  if (isRecord(value)) return value
  throw new CNIError(codes.undecodable, 'the network configuration is no JSON object', 'it is read from stdin')
}

function decoded(text: string, what: string): { readonly value: unknown } {
  try {
    return parseJSON(text)
  } catch (error) {
    if (!(error instanceof JSONSyntaxError)) throw error
    throw new CNIError(codes.undecodable, `${what} is no JSON`, showHidden(error.message), { cause: error })
  }
}

const field = (value: Readonly<Record<string, unknown>>, key: string): unknown =>
  Object.hasOwn(value, key) ? value[key] : undefined

function textIn(value: Readonly<Record<string, unknown>>, key: string): string {
  const text = field(value, key) ?? ''
  if (typeof text === 'string') return text
  throw new CNIError(codes.undecodable, `${key} is not a text`, 'correct the network configuration')
}

const missing = (name: string, verb?: Verb): CNIError =>
  new CNIError(
    codes.environment,
    `${name} is missing`,
    `the runtime sets it${verb === undefined ? '' : ` for ${verb}`}`,
  )

const wrong = (name: string, text: string, how: string): CNIError =>
  new CNIError(codes.environment, `${name} has ${quoteText(text)}`, how)
