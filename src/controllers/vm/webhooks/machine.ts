// What a virtual machine, or a lone instance, asks for, judged when it is written: all that is wrong at once, long before a pod is
// made. Only what changes is judged: a machine that is stored already can be stopped, deleted and let go whatever it says.

import { type Fault, invalid } from '../../../admission/fault.ts'
import { allowed, type Ruling } from '../../../admission/ruling.ts'
import type { WebhookRequest } from '../../../admission/webhook.ts'
import { addressesAnnotation } from '../../../api/names.ts'
import { strayRequests, toRequestedText } from '../../../api/requests.ts'
import {
  masqueradedIn,
  parseVirtualMachine,
  parseVirtualMachineInstance,
  type VirtualMachine,
  type VirtualMachineInstance,
} from '../../../api/virtual-machine.ts'
import { isMalformed, type Malformed } from '../../../ip/malformed.ts'
import { isOfVM, type Wanted } from '../claims/belonging.ts'
import type { VMFacts } from '../facts.ts'
import { faultsOf } from './judge.ts'

type Request = Pick<WebhookRequest, 'old' | 'next' | 'namespace' | 'isCallerProven'>
type Read = (object: unknown) => VirtualMachine | VirtualMachineInstance | Malformed

export const judgeVM = (request: Request, facts: VMFacts): Ruling =>
  judge(request, facts, parseVirtualMachine, 'spec.template.')

/** One of a virtual machine has what that was judged for. */
export function judgeInstance(request: Request, facts: VMFacts): Ruling {
  const instance = parseVirtualMachineInstance(request.next)
  return isMalformed(instance) || isOfVM(instance) ? allowed() : judge(request, facts, parseVirtualMachineInstance, '')
}

function judge({ old, next, namespace, isCallerProven }: Request, facts: VMFacts, read: Read, path: string): Ruling {
  const [before, machine] = [old === undefined || old === null ? undefined : read(old), read(next)]
  // What KubeVirt cannot read either is for KubeVirt to refuse.
  if (isMalformed(machine) || machine.isDeleting) return allowed()
  const { interfaces, addresses, defaultNetwork } = machine
  const asked = JSON.stringify([interfaces, addresses, defaultNetwork])
  if (before !== undefined && !isMalformed(before)) {
    if (asked === JSON.stringify([before.interfaces, before.addresses, before.defaultNetwork])) return allowed()
  }
  const wanted = facts.wantedBy(machine, namespace)
  // A client that is no API server does not learn from this what networks are like: the machine is let in, and its claim says why.
  const isJudged = ({ request }: Wanted): boolean => isCallerProven || isMalformed(request)
  const faults = wanted.filter(isJudged).flatMap(one => faultsIn(one, namespace, path, facts))
  const warnings = [
    ...strayRequests(machine, interfaces),
    ...wanted.flatMap(one => ignored(one)),
    ...masqueraded(wanted, masqueradedIn(next)),
    ...wanted.filter(one => !isJudged(one)).flatMap(one => unsaid(one, namespace, facts)),
    ...(isCallerProven ? wanted.flatMap(one => notApplied(one, machine, facts)) : []),
  ].slice(0, warningsMax)
  return faults.length > 0 ? { kind: 'invalid', faults, warnings } : allowed(warnings)
}

const warningsMax = 10

function faultsIn(wanted: Wanted, namespace: string, path: string, facts: VMFacts): Fault[] {
  const { name, request } = wanted
  const field = isMalformed(request)
    ? `${path}spec.domain.devices.interfaces[${name}]`
    : `${path}metadata.annotations[${addressesAnnotation}]`
  return sentencesOn(wanted, namespace, facts).map(fault => invalid(field, name, fault))
}

function sentencesOn(wanted: Wanted, namespace: string, facts: VMFacts): readonly string[] {
  const { request, network } = wanted
  if (request === undefined || network?.isPersistent !== true) return []
  return faultsOf(request, facts.poolsOf(wanted, namespace))
}

function unsaid(wanted: Wanted, namespace: string, facts: VMFacts): string[] {
  if (sentencesOn(wanted, namespace, facts).length === 0) return []
  return [`interface ${wanted.name} asks for what its network does not give: its IPAMClaim says why`]
}

/** Whether it will last is not known yet where the network is not there. */
function ignored({ name, request, network, isInView, attachment }: Wanted): string[] {
  if (request === undefined || isMalformed(request) || request.ips.length === 0) return []
  if (network?.isPersistent === true || (!isInView && attachment !== undefined)) return []
  const ips = request.ips.map(toRequestedText).join(', ')
  return [`interface ${name} asks for ${ips}, and is on no network with persistent addresses: nothing is given`]
}

/** The pod has the address then, and the guest another. */
function masqueraded(wanted: readonly Wanted[], names: readonly string[]): string[] {
  return wanted.flatMap(({ name, request, network }): string[] => {
    if (request === undefined || isMalformed(request) || request.ips.length === 0) return []
    if (network?.isPersistent !== true || !names.includes(name)) return []
    const ips = request.ips.map(toRequestedText).join(', ')
    return [`interface ${name} asks for ${ips}, and masquerade hides that from the guest: bind it by l2bridge`]
  })
}

function notApplied(wanted: Wanted, machine: VirtualMachine | VirtualMachineInstance, facts: VMFacts): string[] {
  const { name, request } = wanted
  if (request === undefined || isMalformed(request) || machine.metadata.uid === '') return []
  const claim = facts.claimFor(machine, wanted)
  const texts = (claim?.ips ?? []).map(text => text.split('/')[0])
  const others = request.ips.filter(one => !texts.includes(toRequestedText({ ...one, prefix: undefined })))
  if (claim === undefined || texts.length === 0 || others.length === 0) return []
  const had = claim.ips.join(', ')
  return [`interface ${name} has ${had}, and keeps that: for other addresses remove the interface and add it again`]
}
