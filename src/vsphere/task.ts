// How far a task of the server is. A task that the server has forgotten ended long ago: it keeps them for some minutes.

import { childOf, textOf, type XMLElement } from '../xml.ts'
import type { VSphereClient } from './client.ts'
import { faultOfValue, isVimFault, type VimFault, VSphereConnectionError } from './fault.ts'
import { readProperties } from './properties.ts'
import { type ManagedRef, readRef, toRef } from './value.ts'

export interface TaskSeen {
  readonly state: 'queued' | 'running' | 'success' | 'error'
  readonly result?: XMLElement | undefined
  /** Why it failed, if it did. */
  readonly error?: VimFault
}

type Client = Pick<VSphereClient, 'call' | 'content' | 'host'>

export async function readTask(client: Client, task: ManagedRef, signal?: AbortSignal): Promise<TaskSeen> {
  const [found] = await readProperties(client, [task], ['info'], signal)
  const info = found?.properties.get('info')
  if (info === undefined) throw new VSphereConnectionError(`${client.host} tells nothing of the task ${task.ref.value}`)
  const what = `${textOf(info, 'descriptionId') ?? 'the task'} at ${client.host}`
  const state = textOf(info, 'state')
  if (state === 'success') return { state, result: childOf(info, 'result') }
  if (state === 'error') return { state, error: faultOfValue(childOf(info, 'error'), what) }
  return { state: state === 'queued' ? state : 'running' }
}

/** Undefined where the server knows no such task any more. */
export async function askTask(client: Client, id: string, signal?: AbortSignal): Promise<TaskSeen | undefined> {
  try {
    return await readTask(client, toRef('Task', id), signal)
  } catch (error) {
    if (isVimFault(error, 'ManagedObjectNotFound')) return undefined
    throw error
  }
}

/** A clone that has not ended: when the server took it on, in milliseconds since 1970 by its own clock. */
export interface RunningClone {
  readonly id: string
  readonly queuedAtMs: number
}

/**
 * The clones of a virtual machine that are queued or running. Which names they are to have the server does not tell, only when it
 * took each of them on.
 */
export async function runningClonesOf(
  client: Client,
  source: ManagedRef,
  signal?: AbortSignal,
): Promise<RunningClone[]> {
  const [found] = await readProperties(client, [source], ['recentTask'], signal)
  const refs = (found?.properties.get('recentTask')?.children ?? []).flatMap(item => readRef(item) ?? [])
  const running: RunningClone[] = []
  for (const task of refs) {
    const info = await askInfo(client, task, signal)
    if (info === undefined || !/^VirtualMachine\.clone/.test(textOf(info, 'descriptionId') ?? '')) continue
    if (!['queued', 'running'].includes(textOf(info, 'state') ?? '')) continue
    running.push({ id: task.ref.value, queuedAtMs: Date.parse(textOf(info, 'queueTime') ?? '') })
  }
  return running
}

async function askInfo(client: Client, task: ManagedRef, signal?: AbortSignal): Promise<XMLElement | undefined> {
  try {
    const [found] = await readProperties(client, [task], ['info'], signal)
    return found?.properties.get('info')
  } catch (error) {
    if (isVimFault(error, 'ManagedObjectNotFound')) return undefined
    throw error
  }
}

/** The clock of the server: what it writes into its tasks is by this one. */
export async function serverNowMs(client: Client, signal?: AbortSignal): Promise<number> {
  const [now] = await client.call('CurrentTime', toRef('ServiceInstance', 'ServiceInstance'), {}, signal)
  const ms = Date.parse(now?.text.trim() ?? '')
  if (Number.isNaN(ms)) throw new VSphereConnectionError(`${client.host} does not tell what time it is`)
  return ms
}
