// A session with the vCenter of a Machine, and what is said when there is none, or when it refuses: each of these is a sentence on the
// Machine, never a pass that fails without a word.

import type { Machine } from '../../../api/machine.ts'
import type { VSphereProviderSpec } from '../../../api/vsphere-provider-spec.ts'
import type { PassResult } from '../../../runtime/reconciler.ts'
import { isVimFault, VSphereConnectionError } from '../../../vsphere/fault.ts'
import { NotInInventory } from '../../../vsphere/inventory.ts'
import { readable } from '../../office/kept.ts'
import { machineOf } from '../parsed.ts'
import { type Credentials, NotConfigured, readCredentials } from './credentials.ts'
import { complain, retryLater, type Turn, type Why } from './turn.ts'
import type { Ground } from './vcenter.ts'

export async function withVCenter(
  turn: Turn,
  machine: Machine,
  spec: VSphereProviderSpec,
  condition: string,
  work: (ground: Ground) => Promise<PassResult>,
): Promise<PassResult> {
  const { namespace, name } = machine.metadata
  const { signal } = turn.pass
  let credentials: Credentials | undefined
  try {
    const of = { namespace, secret: spec.credentialsSecret, server: spec.workspace.server }
    credentials = await readCredentials(turn.client, of, turn.vcenters)
    const vcenter = await turn.sessions.of(credentials)
    return await work({ vcenter, machine, spec, signal })
  } catch (error) {
    const why = signal.aborted ? undefined : whyOf(error)
    if (why === undefined) throw error
    const isOver = error instanceof VSphereConnectionError || isVimFault(error, 'InvalidLogin')
    if (isOver && credentials !== undefined) turn.sessions.drop(credentials)
    // It may have been written since the pass began.
    const now = readable(turn.caches.machines.get(`${namespace}/${name}`), machineOf) ?? machine
    if (now.metadata.uid === machine.metadata.uid) await complain(turn, now, condition, why)
    return retryLater(turn)
  }
}

function whyOf(error: unknown): Why | undefined {
  if (!(error instanceof Error)) return undefined
  const { message } = error
  if (error instanceof NotConfigured) return { reason: 'NotConfigured', message }
  if (error instanceof NotInInventory) return { reason: 'NotInInventory', message }
  if (error instanceof VSphereConnectionError) return { reason: 'VCenterUnreachable', message }
  if (isVimFault(error, 'InvalidLogin')) return { reason: 'LoginRefused', message }
  return isVimFault(error) ? { reason: 'VCenterRefused', message } : undefined
}
