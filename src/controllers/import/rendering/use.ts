// What still uses a network in one namespace, by what the API server answers: pods that are configured with it, and claims. A
// network that goes while a virtual machine is stopped would strand the machine, so claims count too: OVN-Kubernetes asks about
// pods alone.
//
// A namespace that the network is not for cannot hold it up by what its users write: any of them can make a
// NetworkAttachmentDefinition that looks as if it were rendered, a claim, and a pod with an annotation. There only claims with
// an address count, which the controller alone writes into a status; every machine that runs has one.

import { podNetworksAnnotation } from '../../../api/names.ts'
import { isRecord, ownText } from '../../../api/shape.ts'
import { isApiError } from '../../../kube/api-error.ts'
import type { Client } from '../../../kube/client.ts'
import { type Kind, type KubeObject, keyOf } from '../../../kube/object.ts'
import { ipamClaims, pods } from '../../office/kinds.ts'
import type { Leaving } from './plan.ts'

/** Why it has to stay; undefined if nothing uses it. `network` is its name in the claims. */
export async function whyUsed(
  client: Client,
  { attachment, isElsewhere }: Leaving,
  network: string,
): Promise<string | undefined> {
  const { namespace = '' } = attachment.metadata
  const key = keyOf(attachment)
  const using = isElsewhere ? [] : (await listed(client, pods, namespace)).filter(pod => isOn(pod, key))
  if (using.length > 0) return inUse(key, `network in use by the following pods: [${namesOf(using)}]`)
  const claims = (await listed(client, ipamClaims, namespace)).filter(
    claim => networkOf(claim) === network && (!isElsewhere || hasAddress(claim)),
  )
  if (claims.length === 0) return undefined
  const advice = 'their virtual machines would lose their addresses: delete these first'
  return inUse(key, `network in use by the following IPAMClaims: [${namesOf(claims)}]; ${advice}`)
}

const inUse = (key: string, why: string): string => `failed to delete NetworkAttachmentDefinition [${key}]: ${why}`

async function listed(client: Client, kind: Kind, namespace: string): Promise<readonly KubeObject[]> {
  try {
    return (await client.list(kind, { namespace })).items
  } catch (error) {
    if (isApiError(error, 'NotInstalled')) return []
    throw error
  }
}

const namesMax = 10

function namesOf(objects: readonly KubeObject[]): string {
  const names = objects.map(keyOf).toSorted()
  const more = names.length - namesMax
  return more > 0 ? `${names.slice(0, namesMax).join(' ')} and ${more} more` : names.join(' ')
}

interface Pod extends KubeObject {
  readonly status?: { readonly phase?: unknown }
}

/** A pod that has ended keeps its annotation, and no interface. Further interfaces on one network are numbered: `ns/name/1`. */
function isOn({ metadata: { annotations = {} }, status }: Pod, key: string): boolean {
  if (status?.phase === 'Succeeded' || status?.phase === 'Failed') return false
  const entries = parsed(ownText(annotations, podNetworksAnnotation) ?? '')
  return isRecord(entries) && Object.keys(entries).some(one => one === key || one.startsWith(`${key}/`))
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function hasAddress(claim: KubeObject): boolean {
  const { status } = claim as { status?: unknown }
  return isRecord(status) && Array.isArray(status.ips) && status.ips.length > 0
}

function networkOf(claim: KubeObject): unknown {
  const { spec } = claim as { spec?: unknown }
  return isRecord(spec) ? spec.network : undefined
}
