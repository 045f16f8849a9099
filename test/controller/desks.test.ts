// Desks that are on, off, or lack something: each by itself, and the process for all of them.

import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { type Manifest, plainInstall, toRBAC } from '../../scripts/config/manifests.ts'
import { standInsOf } from '../../src/cli/definitions.ts'
import { printDefinitions } from '../../src/cli/print-definitions.ts'
import { type KubeObject, refOf } from '../../src/kube/object.ts'
import { readyOf } from '../behaviours/promises.ts'
import { desksWithToy } from '../toy-desk/desks.ts'
import { toyDefinitions } from '../toy-desk/kinds.ts'
import { aClaim, addressOf, aGround, aNamespace, aPool, type Ground, kindNamed, until } from './ground.ts'
import { aReplica, type Replica } from './replica.ts'

const home = 'desks-home'
const [berthDefinition] = toyDefinitions as [KubeObject]
let ground: Ground
const replicas: Replica[] = []

beforeAll(async () => {
  ground = await aGround()
  await ground.apply(aNamespace(home), ...toyDefinitions)
  await untilServed(() => ground.apply(network))
})
afterAll(() => ground.stop())
afterEach(async () => {
  for (const replica of replicas.splice(0)) await replica.stop()
})

/** An installation with these desks on, and the account that has its roles: without rules about that resource, where one is named. */
async function install(name: string, on: readonly string[], missing = ''): Promise<Installed> {
  const options = { ...plainInstall, namespace: `${name}-system`, namePrefix: `${name}-`, desks: desksWithToy, on }
  const roles = toRBAC(options)
  const isLeft = ({ resources }: Rule) => resources?.includes(missing) !== true
  const fewer = roles.map(role => (role.rules === undefined ? role : { ...role, rules: rulesOf(role).filter(isLeft) }))
  await ground.apply(aNamespace(options.namespace), ...fewer)
  const kubeconfig = await ground.kubeconfigOf(options.namespace, `${name}-controller`)
  const [grant, take] = [() => ground.apply(...roles), () => ground.apply(...fewer)]
  return { kubeconfig, rules: roles.flatMap(rulesOf), grant, take }
}

interface Installed {
  readonly kubeconfig: string
  readonly rules: readonly Rule[]
  /** All rules, from now on. */
  readonly grant: () => Promise<void>
  /** Without those about the resource again. */
  readonly take: () => Promise<void>
}

interface Rule {
  readonly resources?: readonly string[]
}

const rulesOf = ({ rules }: Manifest): readonly Rule[] => (rules ?? []) as readonly Rule[]

async function start(kubeconfig: string, on: readonly string[]): Promise<Replica> {
  const replica = await aReplica(kubeconfig, { desks: on.join(','), insecureDiagnostics: true }, desksWithToy)
  replicas.push(replica)
  return replica
}

async function statesOf(replica: Replica): Promise<string[]> {
  const answer = await fetch(`http://127.0.0.1:${replica.ports.diagnostics}/metrics`)
  const lines = (await answer.text()).matchAll(/^mooring_desk_state\{desk="(\w+)",state="([\w ]+)"\} 1$/gm)
  return [...lines].map(([, desk, state]) => `${desk} ${state}`)
}

const network = {
  apiVersion: 'toy.example.org/v1',
  kind: 'ToyNetwork',
  metadata: { name: 'desks' },
  spec: { subnets: ['10.9.0.0/24'] },
}

const aBerth = (name: string) => ({
  apiVersion: 'toy.example.org/v1',
  kind: 'Berth',
  metadata: { namespace: home, name },
  spec: { network: network.metadata.name },
})

const isServed = async (berth: object) =>
  readyOf(await ground.admin.get(kindNamed('Berth'), refOf(berth as never)))?.status === 'True'

/** A kind is served a little later than it is defined. */
const untilServed = (write: () => Promise<void>) =>
  until('the kind is served', () =>
    write().then(
      () => true,
      () => false,
    ),
  )

describe('with two desks, of which one lacks a permission', () => {
  test('the process is ready and names it, the other desk works, and it begins when it has the permission', async () => {
    const { kubeconfig, grant } = await install('pair', ['capi', 'toy'], 'berths/status')
    const replica = await start(kubeconfig, ['capi', 'toy'])
    const reason =
      'may not patch berths.toy.example.org/status: without it, a berth does not say what it has, or why it waits'
    await replica.untilReady()
    await until('the desk is known to wait', async () => (await statesOf(replica)).includes('toy waiting'))
    expect(await replica.readyz()).toEqual({ code: 200, text: `ok\ndesk toy waits: ${reason}\n` })
    expect(await replica.readyz('/toy')).toEqual({ code: 503, text: `${reason}\n` })
    expect(await replica.readyz('/capi')).toEqual({ code: 200, text: 'ok' })
    await until('the other desk works', async () => (await statesOf(replica)).includes('capi working'))
    expect(await statesOf(replica)).toEqual(['office working', 'capi working', 'toy waiting'])

    const pool = aPool(home, 'pair', '10.11.0.0/24')
    const claim = aClaim(home, 'pair', pool)
    const berth = aBerth('pair')
    await ground.apply(pool, claim, berth)
    expect(await addressOf(ground.admin, claim)).toBe('10.11.0.1')
    expect(await isServed(berth)).toBe(false)

    await grant()
    await until('the berth is served', () => isServed(berth))
    expect(await replica.readyz()).toEqual({ code: 200, text: 'ok' })
    expect(await statesOf(replica)).toEqual(['office working', 'capi working', 'toy working'])
    // While a desk is there to let it go.
    await ground.remove(berth)
    await until(
      'the berth is gone',
      async () => (await ground.admin.get(kindNamed('Berth'), refOf(berth))) === undefined,
    )
  })
})

describe('with one desk, which lacks a permission', () => {
  test('the process is not ready, and says why', async () => {
    const { kubeconfig } = await install('single', ['toy'], 'berths/status')
    const replica = await start(kubeconfig, ['toy'])
    await replica.said({ msg: 'a permission is missing', desk: 'toy' })
    const text =
      'desk toy waits: may not patch berths.toy.example.org/status: without it, a berth does not say what it has, or why it waits\n'
    await until('nothing else is missing', async () => (await replica.readyz()).text === text)
    expect((await replica.readyz()).code).toBe(503)
    expect(replica.lines.map(({ msg }) => msg)).not.toContain('leads')
  })
})

describe('with every desk, and without the permission to be the leader', () => {
  test('the process is not ready, and says why', async () => {
    const { kubeconfig } = await install('leaderless', ['capi', 'toy'], 'leases')
    const replica = await start(kubeconfig, ['capi', 'toy'])
    await replica.said({ msg: 'a permission is missing', desk: 'election', verb: 'create' })
    await until('nothing else is missing', async () => {
      const lines = (await replica.readyz()).text.trim().split('\n')
      return lines.every(line => line.includes('leases.coordination.k8s.io in namespace leaderless-system'))
    })
    expect((await replica.readyz()).code).toBe(503)
  })
})

describe('with a desk whose kind is not installed', () => {
  test('the process is ready and leads, and the desk begins when the kind comes', async () => {
    await ground.remove(berthDefinition)
    await until('the kind is gone', async () => {
      return (await ground.admin.get(kindNamed('CustomResourceDefinition'), refOf(berthDefinition))) === undefined
    })
    const { kubeconfig } = await install('early', ['toy'])
    const replica = await start(kubeconfig, ['toy'])
    await replica.untilReady()
    await until('the office works', async () => (await statesOf(replica)).includes('office working'))
    expect(await statesOf(replica)).toEqual(['office working', 'toy not installed'])
    const reason = 'berths.toy.example.org is not installed: it comes with the toy'
    expect(await replica.readyz()).toEqual({ code: 200, text: `ok\ndesk toy waits: ${reason}\n` })
    expect(await replica.readyz('/toy')).toEqual({ code: 503, text: `${reason}\n` })

    await ground.apply(berthDefinition)
    const berth = aBerth('early')
    await untilServed(() => ground.apply(berth))
    await until('the berth is served', () => isServed(berth))
    await until('nothing is missing', async () => (await replica.readyz()).text === 'ok')
  })
})

describe('with the desk vm, in a cluster without the kinds of virtual machines', () => {
  const isThere = async (definition: object) =>
    (await ground.admin.get(kindNamed('CustomResourceDefinition'), refOf(definition as never))) !== undefined
  const others = standInsOf([{ standIns: ['crd/kubevirt/', 'crd/networks/', 'crd/machine/'] }])
  const texts: string[] = []
  printDefinitions('vm', text => texts.push(text))
  const printed = parseAllDocuments(texts.join('')).map(document => document.toJS() as { metadata: { name: string } })
  const brought = others.filter(({ metadata }) => !printed.some(one => one.metadata.name === metadata.name))

  test('the process is ready, names each kind and the command that installs ours, and the desk begins with it', async () => {
    const { kubeconfig } = await install('bare', ['capi', 'vm'])
    const replica = await start(kubeconfig, ['capi', 'vm'])
    await replica.untilReady()
    const claims = 'ipamclaims.k8s.cni.cncf.io is not installed: it comes with OVN-Kubernetes'
    const command = 'elsewhere, install it: mooring definitions vm | kubectl create -f -'
    const lines = [
      `desk vm waits: ${claims}; ${command}`,
      'desk vm waits: virtualmachines.kubevirt.io is not installed: it comes with KubeVirt',
      'desk vm waits: virtualmachineinstances.kubevirt.io is not installed: it comes with KubeVirt',
      'desk vm waits: network-attachment-definitions.k8s.cni.cncf.io is not installed: it comes with Multus or OVN-Kubernetes',
    ]
    await until('all of them are named', async () => {
      const { text } = await replica.readyz()
      return lines.every(line => text.includes(`${line}\n`))
    })
    expect((await replica.readyz()).code).toBe(200)
    const said = await replica.said({ msg: 'a kind is missing', kind: 'ipamclaims.k8s.cni.cncf.io' })
    expect(said.advice).toContain(command)

    await ground.apply(...brought)
    await until('nothing else is missing', async () => (await replica.readyz('/vm')).text === `${claims}; ${command}\n`)
    const [definition] = printed
    await ground.admin.create(kindNamed('CustomResourceDefinition'), definition as never)
    await until('the desk works', async () => (await statesOf(replica)).includes('vm working'))
    expect(await replica.readyz('/vm')).toEqual({ code: 200, text: 'ok' })
    // One that is there, whichever it is, is not overwritten.
    const again = ground.admin.create(kindNamed('CustomResourceDefinition'), definition as never)
    await expect(again).rejects.toMatchObject({ reason: 'AlreadyExists' })
    await replica.stop()
    await ground.remove(...others)
    await until('they are gone again', async () => (await Promise.all(others.map(isThere))).every(is => !is))
  })
})

describe('--desks', () => {
  test('leaves a desk off: it makes no pass, its kinds are seen, and it needs no permission to write', async () => {
    const { rules, kubeconfig } = await install('off', ['capi'])
    expect(rules.filter(({ resources }) => resources?.some(name => /^(berths|toynetworks)/.test(name)))).toEqual([
      { apiGroups: ['toy.example.org'], resources: ['berths'], verbs: ['list', 'watch'] },
      { apiGroups: ['toy.example.org'], resources: ['toynetworks'], verbs: ['list', 'watch'] },
    ])
    const replica = await start(kubeconfig, ['capi'])
    const pool = aPool(home, 'off', '10.12.0.0/24')
    const claim = aClaim(home, 'off', pool)
    const berth = aBerth('off')
    await ground.apply(berth, pool, claim)
    expect(await addressOf(ground.admin, claim)).toBe('10.12.0.1')
    expect(await isServed(berth)).toBe(false)
    expect(await statesOf(replica)).toEqual(['office working', 'capi working'])
    expect(await replica.readyz('/toy')).toMatchObject({ code: 404 })
    expect(replica.lines.filter(({ level }) => level === 'error')).toEqual([])
  })

  test('leaves the desk of Machines off: its mode asks for no permission either', async () => {
    const { kubeconfig } = await install('mode', ['capi'])
    const options = { desks: 'capi', machineMode: 'full', insecureDiagnostics: true } as const
    const replica = await aReplica(kubeconfig, options, desksWithToy)
    replicas.push(replica)
    await replica.untilReady()
    expect(replica.lines.filter(({ desk }) => desk === 'machine')).toEqual([])
  })
})

describe('with two desks, of which one loses a permission while it works', () => {
  test('that desk waits until it has it again, and says so; the other one goes on', async () => {
    const { kubeconfig, grant, take } = await install('losing', ['capi', 'toy'], 'berths/status')
    await grant()
    const replica = await start(kubeconfig, ['capi', 'toy'])
    await until('both work', async () => (await statesOf(replica)).join() === 'office working,capi working,toy working')
    // Everything is looked at again by a clock: in this process that is tried without waiting (src/cli/start-up-checks.test.ts).
    if (!ground.isReal) return
    await take()
    await until('the desk waits', async () => (await statesOf(replica)).includes('toy waiting'))
    const reason =
      'may not patch berths.toy.example.org/status: without it, a berth does not say what it has, or why it waits'
    expect(await replica.readyz()).toEqual({ code: 200, text: `ok\ndesk toy waits: ${reason}\n` })
    await replica.said({ level: 'error', msg: 'the desk waits', desk: 'toy' })
    const pool = aPool(home, 'losing', '10.13.0.0/24')
    const claim = aClaim(home, 'losing', pool)
    await ground.apply(pool, claim)
    expect(await addressOf(ground.admin, claim)).toBe('10.13.0.1')
    await grant()
    await until('the desk goes on', async () => (await statesOf(replica)).includes('toy working'))
  })
})
