// Mooring's controller beside a server that is not its own: installed from what is shipped, with the shipped roles, as a
// process that answers the API server's webhooks on a loopback port.

import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import {
  type InstallOptions,
  plainInstall,
  toAdmissionPolicies,
  toNamespace,
  toRBAC,
  toWebhooks,
} from '../../scripts/config/manifests.ts'
import { freePort } from '../../scripts/real/free-port.ts'
import { definitionsOf, standInsOf } from '../../src/cli/definitions.ts'
import { componentsOf } from '../../src/controllers/assemble.ts'
import { answers, type Processes, type Running } from '../capi/processes.ts'
import { createServing, pointToProcess } from '../capi/webhooks.ts'
import { apply, define } from './apply.ts'
import type { Place } from './control-plane.ts'
import { kubeconfigOf } from './identity.ts'

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..')

const installation: InstallOptions = { ...plainInstall, on: ['vm', 'import', 'migration'] }

export async function startMooring(place: Place, processes: Processes): Promise<Running> {
  const { client, dir, name } = place
  const isKubeVirts = ({ spec }: { spec: { group: string } }) => spec.group.endsWith('kubevirt.io')
  const components = componentsOf(installation.desks, installation.on)
  // The kinds of networks would come with Multus.
  const definitions = [...definitionsOf(components), ...standInsOf(components)]
  // KubeVirt has brought its own.
  await define(client, ...definitions.filter(definition => !isKubeVirts(definition)))
  await apply(client, toNamespace(installation), ...toRBAC(installation), ...toAdmissionPolicies(installation))

  const [healthPort, webhookPort] = [await freePort(), await freePort()]
  const serving = createServing(join(dir, 'mooring-webhooks'))
  const account = { namespace: installation.namespace, name: `${installation.namePrefix}controller` }
  const running = await processes.start({
    name: `mooring-${name}`,
    path: process.execPath,
    args: [
      process.env.MOORING_MAIN ?? join(root, 'dist', 'main.js'),
      'controller',
      `--desks=${installation.on.join(',')}`,
      `--kubeconfig=${await kubeconfigOf(place, account)}`,
      `--health-probe-bind-address=127.0.0.1:${healthPort}`,
      '--webhook-host=127.0.0.1',
      `--webhook-port=${webhookPort}`,
      `--webhook-cert-dir=${serving.dir}`,
      '--diagnostics-address=0',
      '--log-level=debug',
    ],
    isReady: () => answers(`http://127.0.0.1:${healthPort}/readyz`),
  })
  await apply(client, ...toWebhooks(installation))
  await pointToProcess(client, 'ipam-mooring', webhookPort, serving.authority)
  return running
}
