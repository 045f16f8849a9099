// A space: a set of addresses in which each may be held only once. It is a text, and Hold.spec.space shows it as people
// write it:
//
//   blue, cluster_udn_blue, Tenant.Red             a space of the cluster, by its name
//   team-a/blue                                    a space of the namespace team-a's own
//   InClusterIPPool.ipam.cluster.x-k8s.io/default/vms
//   ClusterAddressPool.mooring.dev/lab             the own space of a pool: the key of its identity
//
// The three cannot be confused: a name of the cluster has no slash, and before the first slash a namespace has no dot where
// the key of an object has one.
//
// Object names end in the scope of a space: legal in a name (DNS-1123), and of no other space, for then two addresses that
// have nothing to do with each other would lock each other out.
//
//   the space                                      its scope
//   one DNS label                                  itself
//   a namespace's own, two DNS labels: team-a/lab  lab.team-a.namespace
//   the own space of a pool of a known kind        vms.default.inclusterippool.ipam.cluster.x-k8s.io
//   everything else: Tenant.Red                    x-54enant-2e-52ed.escaped
//   what would be too long                         <32 hexadecimal digits>.<32 more>.digest

import { createHash } from 'node:crypto'
import { isScope, scopeCharsMax } from '../ip/object-name.ts'
import { type Identity, identityKey, parseIdentityKey } from './object.ts'

/** What a CNI network may be called: a network is the space of its name. */
const clusterSpacePattern = /^[A-Za-z0-9][A-Za-z0-9_.-]*$/
/** As long as the name of an object may be; CNI itself states no maximum. */
export const clusterSpaceCharsMax = 253
const labelPattern = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/
const labelCharsMax = 63

const isLabel = (text: string): boolean => text.length <= labelCharsMax && labelPattern.test(text)

const isClusterSpace = (text: string): boolean => text.length <= clusterSpaceCharsMax && clusterSpacePattern.test(text)

/** Whether a network may be called this: the name of a CNI network is the name of a space. */
export const isNetworkName = isClusterSpace

/** For the author of a name that is none. */
export const networkNameAdvice = `begin with a letter or digit, go on with letters, digits, "_", "." and "-", at most ${clusterSpaceCharsMax} characters`

/** Whether `spec.space` of a pool may say this: the name of a space of the cluster, or the key of a pool. */
export const isSpaceName = (text: string): boolean => isClusterSpace(text) || isPoolKey(text)

/** For the author of a name that is none. */
export const spaceNameAdvice =
  'begin with a letter or digit, go on with letters, digits, "_", "." and "-"; or write the key of a pool, Kind.group/name'

/** Whether a hold may be in it: also the own space of a namespace, which is given and never asked for by this text. */
export function isSpace(text: string): boolean {
  // One is asked about for every hold in it.
  if (text === lastSpace) return true
  if (!isWellFormed(text)) return false
  lastSpace = text
  return true
}

let lastSpace: string | undefined

function isWellFormed(text: string): boolean {
  if (isSpaceName(text)) return true
  const slash = text.indexOf('/')
  return slash !== -1 && isLabel(text.slice(0, slash)) && isClusterSpace(text.slice(slash + 1))
}

function isPoolKey(text: string): boolean {
  const pool = parseIdentityKey(text)
  if (pool === undefined || !isSubdomain(pool.apiGroup) || !isSubdomain(pool.name)) return false
  return /^[A-Z][A-Za-z0-9]{0,62}$/.test(pool.kind) && (pool.namespace === '' || isLabel(pool.namespace))
}

const isSubdomain = (text: string): boolean =>
  text.length <= 253 && text.split('.').every(label => labelPattern.test(label))

/** The own space of a pool that names none. */
export const spaceOfPool = (pool: Identity): string => identityKey(pool)

/** The space of this name that is the namespace's own. */
export const spaceOfNamespace = (namespace: string, name: string): string => `${namespace}/${name}`

/**
 * The kinds of pool and network whose own spaces can be read in object names. Their names can be taken apart again from behind because no
 * entry, lower-cased, ends in a dot and another, and because a namespace has no dot. The names are stored: an entry never
 * changes.
 */
export const readableKinds: ReadonlyMap<string, 'cluster' | 'namespace'> = new Map([
  ['AddressPool.mooring.dev', 'namespace'],
  ['ClusterAddressPool.mooring.dev', 'cluster'],
  ['InClusterIPPool.ipam.cluster.x-k8s.io', 'namespace'],
  ['GlobalInClusterIPPool.ipam.cluster.x-k8s.io', 'cluster'],
  ['InClusterPrefixPool.ipam.cluster.x-k8s.io', 'namespace'],
  ['GlobalInClusterPrefixPool.ipam.cluster.x-k8s.io', 'cluster'],
  ['IPPool.installer.openshift.io', 'namespace'],
  ['IPPool.machine.openshift.io', 'namespace'],
  ['NetworkAttachmentDefinition.k8s.cni.cncf.io', 'namespace'],
])

/** Every hold that is looked up asks for it, and there are few spaces. */
const known = new Map<string, string>()
const knownMax = 10_000

/** What the names of objects in this space end in. */
export function scopeOfSpace(space: string): string {
  const scope = known.get(space)
  if (scope !== undefined) return scope
  const made = encode(space)
  if (known.size >= knownMax) known.clear()
  known.set(space, made)
  return made
}

function encode(space: string): string {
  if (space === '') throw new RangeError('no object can be named: the space of its pool is not decided yet')
  if (isLabel(space)) return space
  const scope = readable(space) ?? escaped(space)
  return isScope(scope) ? scope : digest(space)
}

function readable(space: string): string | undefined {
  const [namespace = '', name = '', ...rest] = space.split('/')
  if (rest.length === 0 && isLabel(namespace) && isLabel(name)) return `${name}.${namespace}.namespace`
  if (!isPoolKey(space)) return undefined
  const [kind = '', ...path] = space.split('/')
  const isKnown = readableKinds.get(kind) === (path.length === 1 ? 'cluster' : 'namespace')
  return isKnown ? [...path.reverse(), kind.toLowerCase()].join('.') : undefined
}

/** [a-z0-9] as they are, of every other character each byte as `-` and two digits. Labels begin with `x`. */
function escaped(space: string): string {
  const labels: string[] = []
  let label = ''
  for (const byte of Buffer.from(space)) {
    const character = String.fromCharCode(byte)
    const token = /[a-z0-9]/.test(character) ? character : `-${byte.toString(16).padStart(2, '0')}`
    if (label.length + token.length > labelCharsMax) {
      labels.push(label)
      label = ''
    }
    label = label === '' ? `x${token}` : label + token
    // No use in going on: it becomes a digest.
    if (labels.length * labelCharsMax > scopeCharsMax) break
  }
  return [...labels, label, 'escaped'].join('.')
}

function digest(space: string): string {
  const digits = createHash('sha256').update(space).digest('hex')
  return `${digits.slice(0, 32)}.${digits.slice(32)}.digest`
}
