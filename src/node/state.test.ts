import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { silentLog } from '../../test/harness/silent-log.ts'
import { State } from './state.ts'
import { openStateDirectory } from './state-directory.ts'

let directory: string

beforeEach(() => {
  directory = join(mkdtempSync(join(tmpdir(), 'mooring-state-')), 'state')
})

afterEach(() => rmSync(join(directory, '..'), { recursive: true, force: true }))

const opened = (boot = 'one') => new State(openStateDirectory(directory), boot, silentLog)
const made = {
  podUID: 'u-1',
  namespace: 'red',
  pod: 'web-0',
  ifname: 'net1',
  network: 'blue',
  attachment: 'red/blue',
  claim: 'c',
  given: { ips: [{ address: '10.0.0.5/24' }], routes: [], dns: {} },
}

test('what was attached is known to the next process, and to no other user', () => {
  const state = opened()
  state.attach(state.prepare(made), 'abc', '/run/netns/abc')
  expect(opened().ofContainer('abc', 'net1')).toMatchObject({ ...made, containerID: 'abc', wasAttached: true })
  expect(statSync(directory).mode & 0o777).toBe(0o700)
  for (const name of readdirSync(directory)) expect(statSync(join(directory, name)).mode & 0o777).toBe(0o600)
})

test('no sandbox outlives the kernel it was made under', () => {
  const state = opened('one')
  state.attach(state.prepare(made), 'abc', '/run/netns/abc')
  const later = opened('two')
  expect(later.ofContainer('abc', 'net1')).toBeUndefined()
  expect(later.ofPod('u-1', 'net1')).toMatchObject({ containerID: '', wasAttached: true })
})

test('a second sandbox takes the place of the first, whose DEL then finds nothing', () => {
  const state = opened()
  const prepared = state.prepare(made)
  state.attach(prepared, 'abc', '/run/netns/abc')
  state.attach(prepared, 'def', '/run/netns/def')
  expect(state.ofContainer('abc', 'net1')).toBeUndefined()
  expect(state.ofContainer('def', 'net1')).toBeDefined()
  expect(state.size).toBe(1)
})

test.each(['', '{', '{}', '[]', '{"given":{}}', `${'['.repeat(100_000)}`])(
  'a file that says %j is dropped, and the others are kept',
  text => {
    const state = opened()
    state.prepare(made)
    writeFileSync(join(directory, 'odd_net1.json'), text)
    expect(opened().size).toBe(1)
    expect(readdirSync(directory)).toHaveLength(1)
  },
)

test('a file under the name of another is not believed', () => {
  opened().prepare(made)
  const [name = ''] = readdirSync(directory)
  writeFileSync(
    join(directory, 'other_net1.json'),
    JSON.stringify({ ...made, containerID: '', netns: '', wasAttached: false, boot: 'one' }),
  )
  expect(opened().size).toBe(1)
  expect(readdirSync(directory)).toEqual([name])
})

test('an interface of any name is kept inside of the directory', () => {
  const state = opened()
  for (const ifname of ['..', 'a%2f', 'é', '.hidden']) state.prepare({ ...made, ifname })
  expect(readdirSync(directory)).toHaveLength(4)
  expect(opened().size).toBe(4)
})

test('what a sandbox has stays, when the pass that prepares it comes later than the ADD', () => {
  const state = opened()
  state.attach(state.prepare(made), 'abc', '/run/netns/abc')
  state.prepare(made)
  expect(state.ofContainer('abc', 'net1')).toMatchObject({ pod: 'web-0', containerID: 'abc' })
})

test('what is prepared for the next sandbox still says that there was one', () => {
  const state = opened()
  state.detach(state.attach(state.prepare(made), 'abc', '/run/netns/abc'))
  expect(state.prepare(made)).toMatchObject({ containerID: '', wasAttached: true })
})
