// A vCenter to read from: govmomi's simulator, over TLS on the loopback interface.

import { binary } from '../../scripts/real/binaries.ts'
import { realClock } from '../../src/runtime/clock.ts'
import { connectVSphere, type VSphereOptions } from '../../src/vsphere/client.ts'
import { VSphereConnectionError } from '../../src/vsphere/fault.ts'
import { lastLines, type Processes } from '../capi/processes.ts'

export interface VCenter {
  /** Without anything that makes its certificate trusted. */
  readonly options: VSphereOptions
  readonly thumbprint: string
}

export async function startVCenter(processes: Processes, name: string, args: readonly string[] = []): Promise<VCenter> {
  const addressIn = (log: string): string => lastLines(log, 1)
  const { log } = await processes.start({
    name,
    path: await binary('vcenter'),
    args,
    isReady: async log => URL.canParse(addressIn(log)),
  })
  const { host, username, password } = new URL(addressIn(log))
  const options = { url: `https://${host}`, userName: username, password, clock: realClock, random: Math.random }
  return { options, thumbprint: await thumbprintOf(options) }
}

/** As a person would learn it: from the refusal. */
async function thumbprintOf(options: VSphereOptions): Promise<string> {
  try {
    await connectVSphere(options)
  } catch (error) {
    if (error instanceof VSphereConnectionError && error.thumbprint !== undefined) return error.thumbprint
    throw error
  }
  throw new Error('a server that signs itself was trusted')
}
