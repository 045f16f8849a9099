// `kubectl apply`, of the rendered file and of the folder in git.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { definitionsOf } from '../../src/cli/definitions.ts'
import { officeComponent } from '../../src/controllers/office/component.ts'
import type { Sentences } from '../capi/sentences.ts'
import { expectSame, expectSameObjects, readObjects } from './manifests.ts'
import { mustRun, mustRunQuietly } from './run.ts'
import type { World } from './world.ts'

/** Kinds that an installation brings. */
const ownKinds = definitionsOf([officeComponent]).length
const label = 'cluster.x-k8s.io/provider=ipam-mooring'
const established = ['wait', 'crd', '-l', label, '--for=condition=Established', '--timeout=30s']
const serverSide = ['apply', '--server-side', '--force-conflicts', '-f']

/** Before anything is installed: what does the API server think of it? */
export async function checkDryRun({ it }: Told, { kubectl, release, file }: World): Promise<void> {
  await it('kubectl kustomize config/default renders the objects of the release, and no others', async () => {
    const folder = readObjects(await mustRun('kubectl', ['kustomize', 'config/default']))
    expectSameObjects(readObjects(file('mooring.yaml')), folder)
  })

  await it('the API server accepts every object in a dry run, without a warning', async () => {
    await mustRunQuietly('kubectl', [...kubectl, ...serverSide, join(release, 'mooring.yaml'), '--dry-run=server'])
  })

  await it('and the roles for one namespace', async () => {
    const roles = 'config/rbac/one-namespace.yaml'
    await mustRunQuietly('kubectl', [...kubectl, ...serverSide, roles, '--dry-run=server'])
  })

  await it('what Prometheus and its operator read is accepted as well', async () => {
    const monitor = 'config/prometheus/monitor.yaml'
    await mustRunQuietly('kubectl', [...kubectl, ...serverSide, monitor, '--dry-run=server'])
  })
}

export async function checkApply({ it }: Told, { kubectl, release }: World): Promise<void> {
  const installed = join(release, 'mooring.yaml')
  await it('kubectl apply installs the release, and a second time changes nothing', async () => {
    await mustRunQuietly('kubectl', [...kubectl, ...serverSide, installed])
    const versions = await resourceVersions(kubectl, installed)
    await mustRunQuietly('kubectl', [...kubectl, ...serverSide, installed])
    expectSame('versions', versions, await resourceVersions(kubectl, installed))
  })

  await it('every kind is served, the older versions of pools too', async () => {
    const kinds = await mustRun('kubectl', [...kubectl, ...established, '-o', 'name'])
    expectSame('number of kinds', ownKinds, kinds.trim().split('\n').length)
    const path = '/apis/ipam.cluster.x-k8s.io/v1alpha1'
    const served = JSON.parse(await mustRun('kubectl', [...kubectl, 'get', '--raw', path])) as Served
    const names = served.resources.map(({ name }) => name).filter(name => !name.includes('/'))
    expectSame('kinds of v1alpha1', ['globalinclusterippools', 'inclusterippools'], names.toSorted())
  })
}

/** The command of docs/how-to/install.md that finds what an older version left. */
export async function checkLeftovers({ it }: Told, { kubectl, release, helmEnv }: World): Promise<void> {
  await it('what the guide says finds a role that this version does not have, and nothing else', async () => {
    const guide = readFileSync('docs/how-to/install.md', 'utf8')
    const command = (guide.match(/^ *comm -23 [\s\S]*?(?=\n *```)/m)?.[0] ?? '').replaceAll('dist/release', release)
    const find = async () => (await mustRun('bash', ['-c', command], { env: helmEnv })).trim()
    expectSame('left at first', '', await find())
    const left = { name: 'mooring-older', labels: { 'cluster.x-k8s.io/provider': 'ipam-mooring' } }
    const role = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: left, rules: [] }
    await mustRun('kubectl', [...kubectl, 'create', '-f', '-'], { input: JSON.stringify(role) })
    expectSame('found', 'clusterrole.rbac.authorization.k8s.io/mooring-older', await find())
    await mustRun('kubectl', [...kubectl, 'delete', 'clusterrole', 'mooring-older'])
  })
}

/** The commands of docs/how-to/install.md. */
export async function checkUninstall({ it }: Told, { kubectl }: World): Promise<void> {
  await it('what the guide says uninstalls it leaves the kinds, and nothing else of ours outside its namespace', async () => {
    const guide = readFileSync('docs/how-to/install.md', 'utf8')
    const commands = guide.match(/^ *kubectl delete .*$/gm) ?? []
    expectSame('number of commands', 4, commands.length)
    for (const command of commands) {
      const args = command.trim().split(' ').slice(1)
      await mustRun('kubectl', [...kubectl, ...args, '--wait=false'])
    }
    const admission = 'validatingwebhookconfigurations,mutatingwebhookconfigurations'
    const policies = 'validatingadmissionpolicies,validatingadmissionpolicybindings'
    const kinds = `crd,clusterroles,clusterrolebindings,${admission},${policies}`
    const left = await mustRun('kubectl', [...kubectl, 'get', kinds, '-l', label, '-o', 'name'])
    const names = left.trim().split('\n')
    expectSame('what is left', ownKinds, names.filter(name => name.startsWith('customresourcedefinition')).length)
    expectSame('and nothing more', ownKinds, names.length)
  })
}

type Told = Pick<Sentences, 'it'>

interface Served {
  readonly resources: readonly { readonly name: string }[]
}

async function resourceVersions(kubectl: readonly string[], installed: string): Promise<string> {
  const name = '{.kind} {.metadata.name} {.metadata.resourceVersion}'
  // The API server itself writes the status of definitions while it begins to serve them.
  await mustRun('kubectl', [...kubectl, ...established])
  return mustRun('kubectl', [...kubectl, 'get', '-f', installed, '-o', `jsonpath={range .items[*]}${name}{"\\n"}{end}`])
}
