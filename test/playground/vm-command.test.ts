// `mooring vm`, on machines of the playground.

import { describe, expect, test } from 'vitest'
import { Failure } from '../../src/cli/failure.ts'
import { actWith, listWith, type VMVerb } from '../../src/cli/vm.ts'
import { instances, machines, migrations, pods } from '../../src/playground/kinds.ts'
import { aGround, aMachine, type Ground, home, type MachineDraft } from './ground.ts'

/** What the command prints when it is run to its end, or why it is refused. */
async function run(ground: Ground, verb: VMVerb, name: string, isWaiting = true): Promise<string[]> {
  const lines: string[] = []
  const tools = { client: ground.client, clock: ground.clock, namespace: home }
  let isOver = false
  const command = actWith(tools, verb, name, isWaiting, line => lines.push(line))
    .catch(error => {
      if (!(error instanceof Failure)) throw error
      lines.push(`${error.exitCode}: ${error.message}`)
    })
    .finally(() => {
      isOver = true
    })
  await ground.eventually(() => expect(isOver).toBe(true), 400_000)
  await command
  return lines
}

async function list(ground: Ground, isEverywhere = false): Promise<string> {
  let text = ''
  const tools = { client: ground.client, clock: ground.clock, namespace: home }
  await listWith(tools, isEverywhere, line => {
    text += line
  })
  return text
}

async function aStoppedMachine(ground: Ground, name: string, draft: MachineDraft): Promise<void> {
  await ground.client.create(machines, aMachine(name, draft))
  await ground.eventually(async () => expect((await ground.machine(name))?.status?.printableStatus).toBe('Stopped'))
}

describe('mooring vm', () => {
  test.each([
    ['Halted', { runStrategy: 'Halted' }],
    ['running: false', { running: false }],
    ['Manual', { runStrategy: 'Manual' }],
  ])('starts, restarts and stops a machine that says %s, and waits for it', async (_, draft) => {
    const ground = await aGround()
    await aStoppedMachine(ground, 'web', draft)
    expect(await run(ground, 'start', 'web')).toEqual(['web starts', expect.stringMatching(/^web runs on playground-/)])
    expect(await run(ground, 'start', 'web', false)).toEqual(['web runs already'])
    const before = (await ground.instance('web'))?.metadata.uid
    expect(await run(ground, 'restart', 'web')).toEqual(['web restarts', expect.stringMatching(/^web runs on /)])
    expect((await ground.instance('web'))?.metadata.uid).not.toBe(before)
    expect(await run(ground, 'stop', 'web')).toEqual(['web stops', 'web is stopped'])
    expect(await ground.instance('web')).toBeUndefined()
    expect(await run(ground, 'stop', 'web')).toEqual(['web is stopped already', 'web is stopped'])
    await ground.pass(5_000)
    expect(await ground.instance('web')).toBeUndefined()
  })

  test('stops a machine that is to rerun on failure, and starts it again', async () => {
    const ground = await aGround()
    await ground.client.create(machines, aMachine('job', { runStrategy: 'RerunOnFailure' }))
    await ground.eventually(async () => expect((await ground.instance('job'))?.status?.phase).toBe('Running'))
    expect(await run(ground, 'stop', 'job')).toEqual(['job stops', 'job is stopped'])
    await ground.pass(5_000)
    expect(await ground.instance('job')).toBeUndefined()
    expect(await run(ground, 'start', 'job')).toEqual(['job starts', expect.stringMatching(/^job runs on /)])
    const [pod] = await ground.podsOf('job')
    const ref = { namespace: home, name: pod?.metadata.name ?? '' }
    await ground.client.mergePatch(pods, ref, { status: { phase: 'Succeeded' } }, { subresource: 'status' })
    await ground.eventually(async () => expect((await ground.instance('job'))?.status?.phase).toBe('Succeeded'))
    expect(await run(ground, 'start', 'job')).toEqual(['job starts', expect.stringMatching(/^job runs on /)])
  })

  test('moves a machine to another node, and says when it could not', async () => {
    const ground = await aGround()
    await ground.client.create(machines, aMachine('web'))
    await ground.eventually(async () => expect((await ground.instance('web'))?.status?.phase).toBe('Running'))
    const before = (await ground.instance('web'))?.status?.nodeName
    expect(await run(ground, 'migrate', 'web')).toEqual([
      expect.stringMatching(/^web moves to another node: /),
      'web has moved',
    ])
    expect((await ground.instance('web'))?.status?.nodeName).not.toBe(before)
    // The one that the command makes is made to fail before it has gone far.
    await ground.stop()
    const command = run(ground, 'migrate', 'web')
    const made = await ground.eventually(async () => {
      const { items } = await ground.client.list(migrations, { namespace: home })
      const open = items.find(({ status }) => status?.phase === undefined)
      if (open === undefined) throw new Error('none yet')
      return open
    })
    const annotations = { 'playground.mooring.dev/fail-migration': 'no way' }
    const ref = { namespace: home, name: made.metadata.name ?? '' }
    await ground.client.mergePatch(migrations, ref, { metadata: { annotations } })
    await ground.start()
    expect(await command).toEqual([
      expect.stringMatching(/^web moves/),
      '5: web has not moved: the migration failed: no way',
    ])
  })

  test('deletes a machine, and waits until it is gone', async () => {
    const ground = await aGround()
    await ground.client.create(machines, aMachine('web'))
    await ground.eventually(async () => expect((await ground.instance('web'))?.status?.phase).toBe('Running'))
    expect(await run(ground, 'delete', 'web')).toEqual(['web is being deleted', 'web is gone'])
    expect(await ground.machine('web')).toBeUndefined()
  })

  test('refuses what cannot be done, in a sentence', async () => {
    const ground = await aGround()
    await aStoppedMachine(ground, 'off', { runStrategy: 'Halted' })
    await aStoppedMachine(ground, 'hand', { runStrategy: 'Manual' })
    expect(await run(ground, 'start', 'none')).toEqual(['5: there is no virtual machine none in namespace default'])
    expect(await run(ground, 'restart', 'off')).toEqual(['5: off is halted'])
    expect(await run(ground, 'restart', 'hand')).toEqual(['5: hand does not run'])
    expect(await run(ground, 'migrate', 'off')).toEqual(['5: off does not run'])
    expect(await run(ground, 'start', 'ns/off')).toEqual(['2: "ns/off" is not the name of a virtual machine'])
  })

  test('moves no machine that is not there, does not run, runs not yet, or is not ready', async () => {
    const ground = await aGround()
    await ground.client.create(machines, aMachine('web'))
    await aStoppedMachine(ground, 'off', { runStrategy: 'Halted' })
    await ground.eventually(async () => expect((await ground.instance('web'))?.status?.phase).toBe('Running'))
    await ground.stop()
    const say = (status: object) => ground.client.mergePatch(instances, { namespace: home, name: 'web' }, { status })
    const ready = (status: string) => ({ conditions: [{ type: 'Ready', status, message: 'the probe fails' }] })
    expect(await run(ground, 'migrate', 'none')).toEqual(['5: there is no virtual machine none in namespace default'])
    expect(await run(ground, 'migrate', 'off')).toEqual(['5: off does not run'])
    await say({ phase: 'Pending' })
    expect(await run(ground, 'migrate', 'web')).toEqual(['5: web does not run yet: its phase is Pending'])
    for (const status of ['False', 'Unknown']) {
      await say({ phase: 'Running', ...ready(status) })
      expect(await run(ground, 'migrate', 'web')).toEqual(['5: web runs and is not ready: the probe fails'])
    }
    expect((await ground.client.list(migrations, { namespace: home })).items).toEqual([])
  })

  test('stops waiting after five minutes, and says what is not so', async () => {
    const ground = await aGround()
    await aStoppedMachine(ground, 'web', { runStrategy: 'Halted' })
    await ground.stop()
    expect(await run(ground, 'start', 'web')).toEqual(['web starts', '3: web does not run after 300 seconds'])
  })

  test('lists machines with status, node, and the addresses that Mooring shows', async () => {
    const ground = await aGround()
    expect(await list(ground)).toBe('no virtual machines in namespace default')
    await ground.client.create(machines, aMachine('web'))
    await aStoppedMachine(ground, 'off', { runStrategy: 'Halted' })
    await ground.eventually(async () => expect((await ground.machine('web'))?.status?.printableStatus).toBe('Running'))
    const shown = [
      { interfaceName: 'net1', ips: ['10.0.0.5/24', 'fd00::5/64'] },
      { interfaceName: 'net2', ips: [] },
    ]
    const annotations = { 'mooring.dev/network-interfaces': JSON.stringify(shown) }
    await ground.client.mergePatch(machines, { namespace: home, name: 'web' }, { metadata: { annotations } })
    const node = (await ground.client.get(instances, { namespace: home, name: 'web' }))?.status?.nodeName
    expect(await list(ground)).toBe(
      [
        'VM   STATUS   NODE          INTERFACES',
        'off  Stopped  -             -',
        `web  Running  ${node}  net1=10.0.0.5/24,fd00::5/64 net2=-`,
      ].join('\n'),
    )
    expect((await list(ground, true)).split('\n')[1]).toBe('default    off  Stopped  -             -')
  })
})
