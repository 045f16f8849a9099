// Every permission that is shipped is missed by name when it is not there: each verb of each rule is taken away in turn.
//
// On the embedded server only what is asked at the start is looked at, by the account itself; on a real one the whole
// controller is started each time.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Manifest, plainInstall, toRBAC } from '../../scripts/config/manifests.ts'
import { type Connected, connect } from '../../src/cli/connect.ts'
import { nameOfResource, permissionSets, singlePermissions } from '../../src/cli/permissions.ts'
import { StartUpChecks } from '../../src/cli/start-up-checks.ts'
import { realClock } from '../../src/runtime/clock.ts'
import { createLog } from '../../src/telemetry/log.ts'
import { aGround, aNamespace, type Ground, until } from './ground.ts'
import { aReplica, type Line } from './replica.ts'

const options = { ...plainInstall, namespace: 'permissions-system', namePrefix: 'permissions-' }
const account = 'permissions-controller'
let ground: Ground
let kubeconfig: string
let connected: Connected

beforeAll(async () => {
  ground = await aGround()
  await ground.apply(aNamespace(options.namespace), ...toRBAC(options))
  kubeconfig = await ground.kubeconfigOf(options.namespace, account)
  connected = connect({ kubeconfig }, 'tester')
})
afterAll(async () => {
  await ground.remove(...toRBAC(options).filter(({ kind }) => String(kind).startsWith('Cluster')))
  await connected.close()
  await ground.stop()
})

interface Rule {
  readonly apiGroups: readonly string[]
  readonly resources?: readonly string[]
  readonly verbs: readonly string[]
}

interface Taken {
  readonly verb: string
  readonly resource: string
  readonly role: Manifest
}

/** Every verb of every resource of every role, each with the role that is left without it. */
function allTaken(): Taken[] {
  const roles = toRBAC(options).filter(({ kind, metadata }) => {
    return (kind === 'Role' || kind === 'ClusterRole') && !(metadata as { name: string }).name.endsWith('reader')
  })
  return roles.flatMap(role => {
    const rules = role.rules as readonly Rule[]
    return rules.flatMap((rule, at) =>
      (rule.resources ?? []).flatMap(resource =>
        rule.verbs.map(verb => ({
          verb,
          resource: nameOf(rule, resource),
          role: without(role, rules, at, resource, verb),
        })),
      ),
    )
  })
}

/** From each rule that grants it: two desks may need the same of one kind, beside different other things. */
function without(role: Manifest, rules: readonly Rule[], at: number, resource: string, verb: string): Manifest {
  const group = rules[at]?.apiGroups?.[0]
  const left = rules.flatMap(rule => {
    if (rule.apiGroups?.[0] !== group || !rule.resources?.includes(resource)) return [rule]
    const others = (rule.resources ?? []).filter(one => one !== resource)
    const verbs = rule.verbs.filter(one => one !== verb)
    return [
      ...(others.length > 0 ? [{ ...rule, resources: others }] : []),
      ...(verbs.length > 0 ? [{ ...rule, resources: [resource], verbs }] : []),
    ]
  })
  return { ...role, rules: left }
}

/** `ipaddressclaims.ipam.cluster.x-k8s.io/status`. */
function nameOf({ apiGroups: [group = ''] }: Rule, resource: string): string {
  const [plural = '', sub] = resource.split('/')
  return [group === '' ? plural : `${plural}.${group}`, sub].filter(part => part !== undefined).join('/')
}

const sets = permissionSets(options.desks, options.on)
const asked = () =>
  singlePermissions({
    sets,
    watchedNamespace: '',
    ownNamespace: options.namespace,
    isElecting: true,
    isDiagnosing: true,
    isAnswering: true,
  })

/** What the account finds to be missing, by nothing but the questions it asks when it starts. */
async function missed(): Promise<Line[]> {
  const lines: Line[] = []
  const log = createLog({ write: line => lines.push(JSON.parse(line) as Line), now: Date.now })
  const { client, discovery } = connected
  const checks = new StartUpChecks({
    client,
    discovery,
    clock: realClock,
    log,
    kinds: [],
    permissions: asked(),
  })
  const stop = new AbortController()
  const running = checks.run(stop.signal)
  const isChecked = () => !checks.reasons('office').includes('it was not checked yet what is there in the cluster')
  await until('it is checked', isChecked)
  stop.abort()
  await running
  return lines.filter(({ level }) => level === 'error')
}

describe('every permission that is shipped', () => {
  test('is one that the controller asks for, and every one it asks for is shipped', async () => {
    const shipped = allTaken().map(({ verb, resource }) => `${verb} ${resource}`)
    const used = sets
      .flatMap(({ permissions }) => permissions)
      .flatMap(({ group, resources, verbs }) =>
        resources.flatMap(resource => verbs.map(verb => `${verb} ${nameOf({ apiGroups: [group], verbs }, resource)}`)),
      )
    expect([...new Set(shipped)].toSorted()).toEqual([...new Set(used)].toSorted())
    expect(await missed()).toEqual([])
  })

  // Of rules alike the server without sockets between its parts needs to be asked about one: all are asked on a real one.
  const taken = allTaken()
  const tried = process.env.MOORING_CONTROLLER_SERVER === 'cluster' ? taken : taken.filter((_, at) => at % 6 === 0)

  test.each(tried.map(one => [one.verb, one.resource, one]))('%s %s is missed by name', async (verb, resource, one) => {
    const whole = toRBAC(options).find(
      ({ kind, metadata }) => kind === one.role.kind && JSON.stringify(metadata) === JSON.stringify(one.role.metadata),
    )
    await ground.apply(one.role)
    try {
      if (ground.isReal) return await startAndMiss(verb, resource)
      // Each desk that needs it says so.
      const lines = await missed()
      expect(lines).not.toEqual([])
      for (const line of lines) expect(line).toMatchObject({ msg: 'a permission is missing', verb, resource })
    } finally {
      await ground.apply(whole ?? {})
    }
  })
})

async function startAndMiss(verb: string, resource: string): Promise<void> {
  // Authorizers of a real server learn of a role a moment later.
  await until('the server has noticed', async () => (await missed()).some(line => line.resource === resource))
  // Only one that answers webhooks looks how they are registered.
  const isForWebhooks = resource.includes('admissionregistration.k8s.io')
  const replica = await aReplica(kubeconfig, isForWebhooks ? { webhookPort: 0 } : {})
  try {
    const line = await replica.said({ msg: 'a permission is missing', verb, resource })
    expect(line).toMatchObject({ level: 'error', without: expect.any(String), advice: expect.any(String) })
    const missing = asked().find(
      one => one.verb === verb && nameOfResource(one) === resource && one.without === line.without,
    )
    if (missing?.isNeeded !== true) return
    // One desk that waits does not make the process unready, if there are others.
    const { code, text } = await replica.readyz(options.on.includes(missing.of) ? `/${missing.of}` : '')
    expect([code, text]).toEqual([503, expect.stringContaining(`may not ${verb} ${resource}`)])
  } finally {
    await replica.stop()
  }
}
