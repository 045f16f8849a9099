// The list of vCenters that Machines may use: names, as Machines and Secrets write them, each with the host and port where it is, if
// that is another.

import type { VCenters } from '../controllers/office/vcenters.ts'
import { isSubdomain } from '../ip/object-name.ts'
import { connectVSphere } from '../vsphere/client.ts'
import { exitCodes, Failure } from './failure.ts'

export const vcentersFlag = '--vcenters <list>'

export const vcentersAbout =
  'vCenters that Machines may use with --machine-mode=full: names, or name=host:port where it is elsewhere'

/** `vc1.example,lab=10.0.0.5:8989`. */
export function parseVCenters(text: string): VCenters {
  const entries = text.split(',').flatMap((item): [string, string][] => {
    const [name = '', host = name, ...rest] = item.trim().split('=')
    if (name === '' && rest.length === 0) return []
    const isHost = URL.canParse(`https://${host}`) && new URL(`https://${host}`).host === host.toLowerCase()
    if (isSubdomain(name) && isHost && rest.length === 0) return [[name, host]]
    const what = `--vcenters has ${JSON.stringify(item)}, which is no vCenter`
    throw new Failure(
      exitCodes.usage,
      what,
      'Write its name, or name=host:port, as in vcenter.example or lab=10.0.0.5:8989.',
    )
  })
  return { servers: new Map(entries), connect: connectVSphere }
}
