// Objects around virtual machines, as their authors may write them, and the webhook on launcher pods: what it answers changes
// nothing but the names of claims.

import { isDeepStrictEqual } from 'node:util'
import { parseIPAMClaim } from '../../src/api/ipam-claim.ts'
import { parseLauncherPod } from '../../src/api/launcher-pod.ts'
import { parseNetworkSelections } from '../../src/api/network-selection.ts'
import { parseVirtualMachine, parseVirtualMachineInstance } from '../../src/api/virtual-machine.ts'
import { everything } from '../../src/controllers/office/scope.ts'
import { createViews } from '../../src/controllers/office/views.ts'
import { chosenOf } from '../../src/controllers/vm/binding/choice.ts'
import { claimName, podInterfaceName, vmLabelValue } from '../../src/controllers/vm/claims/names.ts'
import { vmFacts } from '../../src/controllers/vm/facts.ts'
import { nameClaims } from '../../src/controllers/vm/webhooks/pod.ts'
import { createCaches } from '../../src/controllers/vm/world.ts'
import { isMalformed, type Malformed } from '../../src/ip/malformed.ts'
import { isSubdomain } from '../../src/ip/object-name.ts'
import type { KubeObject } from '../../src/kube/object.ts'
import { aClaim, aPodObject, aVMIObject, aVMObject, StubNetworks } from '../vm/builders.ts'
import { type FuzzTarget, must, mustBeReadable } from './target.ts'

function tryParse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Undefined if it is refused, with a sentence. */
function readBy<T extends object>(parse: (object: unknown) => T | Malformed, object: unknown): T | undefined {
  const one = parse(object)
  if (isMalformed(one)) {
    mustBeReadable(one.malformed)
    return undefined
  }
  must(isDeepStrictEqual(parse(structuredClone(object)), one), 'the same object is read alike')
  return one
}

function mustNameClaims(vm: string, names: readonly string[]): void {
  // The API server has seen to the name of an object; that of an interface is anything.
  if (!isSubdomain(vm)) return
  const label = vmLabelValue(vm)
  must(label.length <= 63 && /^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/.test(label), 'a label is one')
  const claims = new Set<string>()
  for (const name of new Set(names)) {
    const claim = claimName(vm, name)
    must(isSubdomain(claim), `the name of a claim is one: ${claim}`)
    must(!claims.has(claim), 'two interfaces have two claims')
    must(podInterfaceName(name).length <= 15, 'an interface of Linux has a short name')
    claims.add(claim)
  }
}

const ips = ['10.0.0.5/24', 'fd00::5/64']
const status = { ips, ownerPod: { name: 'p' }, conditions: [{ type: 'IPsAllocated', status: 'True', reason: 'a' }] }
const odd = aVMObject({ name: `${'a'.repeat(60)}.b`, interfaces: ['Net_1', 'net.1', 'net-1', ':pod', '\u202e'] })

export const vmObjects: FuzzTarget = {
  name: 'objects of virtual machines',
  corpus: [
    JSON.stringify({ ...aClaim(), status }),
    JSON.stringify(aVMObject({ interfaces: ['net1', 'net2:other/blue', ':pod'], absent: ['net2'] })),
    JSON.stringify(odd),
    JSON.stringify(aVMIObject({ uid: 'vmi-1', of: 'vm-1', activePods: { u: 'node-1' } })),
    JSON.stringify(aPodObject({ networks: [{ name: 'net1' }], podNetworks: '{"lab/net1":{}}', phase: 'Failed' })),
    '{"spec":{"network":"\\u202e"},"status":{"ips":[""]},"metadata":{"labels":{"kubevirt.io/vm":"a"}}}',
    '[]',
  ],
  dictionary: [
    '"networks":[',
    '"multus":{',
    '"ips":',
    '"10.0.0.5/33"',
    '__proto__',
    'null',
    '{}',
    '[]',
    '\u202e',
    '"state":"absent"',
  ],
  run(input) {
    const object = tryParse(input.toString('utf8'))
    if (object === undefined) return
    const claim = readBy(parseIPAMClaim, object)
    const chosen = claim && chosenOf(claim.ips)
    if (chosen !== undefined && isMalformed(chosen)) mustBeReadable(chosen.malformed)
    else must((chosen?.length ?? 0) <= 2, 'a claim has one address of a family at most')
    for (const machine of [readBy(parseVirtualMachine, object), readBy(parseVirtualMachineInstance, object)]) {
      if (machine === undefined) continue
      mustNameClaims(
        machine.metadata.name,
        machine.interfaces.map(({ name }) => name),
      )
    }
    readBy(parseLauncherPod, object)
    must(({} as { name?: unknown }).name === undefined, 'no prototype is changed')
  },
}

const networks = new StubNetworks({ 'lab/net1': 'net1', 'lab/net2': 'net2', 'lab/blue': 'blue' }, { lab: 'lab/blue' })
const instance = aVMIObject({ uid: 'vmi-1', of: 'vm-1', interfaces: ['net1', 'net2', 'again:net1', 'default:pod'] })
const caches = createCaches(true, createViews(true))
caches.vmis.replace([instance], '1')
caches.claims.replace([], '1')
caches.pods.replace([], '1')

const claimKey = 'ipam-claim-reference'
const networksKey = 'k8s.v1.cni.cncf.io/networks'
const networksPath = '/metadata/annotations/k8s.v1.cni.cncf.io~1networks'
const primaryPath = '/metadata/annotations/k8s.ovn.org~1primary-udn-ipamclaim'

const without = ({ [claimKey]: _, ...element }: Readonly<Record<string, unknown>>) => element

/** Element by element: only those without a claim have got one, and nothing else has changed. */
function mustOnlyNameClaims(before: string, after: unknown): void {
  const [old, next] = [parseNetworkSelections(before, 'lab'), parseNetworkSelections(String(after), 'lab')]
  if (isMalformed(old) || isMalformed(next)) throw new Error('broken: only what can be read is changed')
  must(old.length === next.length && old.length > 0, 'no element comes or goes')
  old.forEach((element, i) => {
    const changed = next[i]
    if (changed === undefined) return
    must(isDeepStrictEqual(without(changed.element), without(element.element)), 'an element stays as it is')
    must(element.claim === '' || element.claim === changed.claim, 'a claim that is named stays')
    must(changed.claim === '' || element.claim !== '' || isSubdomain(changed.claim), 'a claim has a name')
  })
}

const launcher = (text: string, more: object = {}): string =>
  JSON.stringify({ annotations: { 'kubevirt.io/domain': 'vm1', [networksKey]: text }, ...more })

export const launcherPods: FuzzTarget = {
  name: 'launcher pods',
  corpus: [
    launcher(
      '[{"name":"net1","namespace":"lab","interface":"pod6c270ef2f25","mac":"02:00:00:00:00:01"},{"name":"net2"}]',
    ),
    launcher('net1,net2,net1'),
    launcher('[{"name":"net1","ipam-claim-reference":"mine"},{"name":"net1","cni-args":{"logicNetworkName":"net1"}}]'),
    launcher('[{"name":"missing"},{"name":"net2","__proto__":{"ipam-claim-reference":"x"}}]'),
    launcher('', { name: 'virt-launcher-vm1-x' }),
    launcher('[{]'),
    '{"annotations":{"kubevirt.io/domain":"\\u202e"}}',
    '{"annotations":[]}',
  ],
  dictionary: [
    '\\"name\\":\\"net2\\"',
    '"kubevirt.io/domain":"vm1"',
    'net1,',
    '\\"interface\\":',
    '__proto__',
    'null',
    '{}',
    '\u202e',
  ],
  async run(input) {
    const metadata = tryParse(input.toString('utf8'))
    const next = { apiVersion: 'v1', kind: 'Pod', metadata }
    const get = async () => undefined as KubeObject | undefined
    const facts = vmFacts({ client: { get: get as never }, caches, networks, scope: everything })
    if (facts === undefined) throw new Error('broken: everything is known')
    for (const operation of ['CREATE', 'UPDATE'] as const) {
      const ruling = await nameClaims({ operation, next, namespace: 'lab', name: 'p', isCallerProven: true }, facts)
      if (ruling.kind !== 'allowed') {
        mustBeReadable(JSON.stringify('message' in ruling ? ruling.message : ''))
        continue
      }
      const annotations = (metadata as { annotations?: Record<string, string> } | undefined)?.annotations
      for (const operationOfPatch of ruling.patch ?? []) {
        const { op, path } = operationOfPatch
        const value = 'value' in operationOfPatch ? operationOfPatch.value : undefined
        must(path === networksPath || (path === primaryPath && operation === 'CREATE'), 'no other field is changed')
        must(op === (path === networksPath ? 'replace' : 'add'), 'the patch can be applied')
        if (path === networksPath) mustOnlyNameClaims(annotations?.[networksKey] ?? '', value)
        else must(typeof value === 'string' && isSubdomain(value), 'the primary claim has a name')
      }
    }
  },
}
