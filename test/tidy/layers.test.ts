import { describe, expect, test } from 'vitest'
import { hostsIn, importsOfTests, isBarrel, packagesOf, tracesIn, vagueImports } from './facts.ts'
import { layerOf, layers, upwardArrows } from './layers.ts'
import { importsOf, read, trackedFiles } from './sources.ts'

const files = trackedFiles()
const sources = files.filter(path => /^src\/.*\.ts$/.test(path))
const product = sources.filter(path => !path.endsWith('.test.ts'))
const imports = product.flatMap(path => importsOf(path, read(path)))

const imported = (from: string, specifier: string) => importsOf(from, `import { x } from '${specifier}'\n`)

describe('the layers of src', () => {
  test('were looked at', () => {
    expect(product.length).toBeGreaterThan(100)
    expect(imports.filter(({ to }) => to !== undefined).length).toBeGreaterThan(300)
  })

  test('are all known', () => {
    expect([...new Set(product.map(layerOf))].filter(layer => layers[layer] === undefined)).toEqual([])
  })

  test('have no circle among them', () => {
    const settled = new Set<string>()
    for (const [layer, below] of Object.entries(layers)) {
      expect(below.filter(name => !settled.has(name))).toEqual([])
      settled.add(layer)
    }
  })

  test('lean only on what is below them', () => {
    expect(upwardArrows(imports)).toEqual([])
  })

  test.each([
    ['src/ip/cidr.ts', '../store/store.ts', 'src/ip/cidr.ts imports src/store/store.ts: ip may not know store'],
    ['src/store/lmdb.ts', '../ip/cidr.ts', 'src/store/lmdb.ts imports src/ip/cidr.ts: store may not know ip'],
    [
      'src/apiserver/call.ts',
      '../cli/up.ts',
      'src/apiserver/call.ts imports src/cli/up.ts: apiserver may not know cli',
    ],
    [
      'src/ipam/choose.ts',
      '../kube/client.ts',
      'src/ipam/choose.ts imports src/kube/client.ts: ipam may not know kube',
    ],
    ['src/helpers/x.ts', '../ip/cidr.ts', 'src/helpers/x.ts lies in src/helpers, which is no known layer'],
    [
      'src/controllers/office/hold/steps.ts',
      '../../capi/world.ts',
      'src/controllers/office/hold/steps.ts imports src/controllers/capi/world.ts: office may not know capi',
    ],
    [
      'src/controllers/vm/desk.ts',
      '../capi/steps.ts',
      'src/controllers/vm/desk.ts imports src/controllers/capi/steps.ts: vm may not know capi',
    ],
    [
      'src/controllers/capi/desk.ts',
      '../desks.ts',
      'src/controllers/capi/desk.ts imports src/controllers/desks.ts: capi may not know desks',
    ],
    [
      'src/controllers/component.ts',
      './office/office.ts',
      'src/controllers/component.ts imports src/controllers/office/office.ts: component may not know office',
    ],
    ['src/web/page.ts', '../store/store.ts', 'src/web/page.ts imports src/store/store.ts: web may not know store'],
    [
      'src/playground/kubelet.ts',
      '../apiserver/server.ts',
      'src/playground/kubelet.ts imports src/apiserver/server.ts: playground may not know apiserver',
    ],
    [
      'src/vsphere/client.ts',
      '../apiserver/server.ts',
      'src/vsphere/client.ts imports src/apiserver/server.ts: vsphere may not know apiserver',
    ],
    ['src/cni/main.ts', '../store/store.ts', 'src/cni/main.ts imports src/store/store.ts: cni may not know store'],
    ['src/ovn/client.ts', '../store/store.ts', 'src/ovn/client.ts imports src/store/store.ts: ovn may not know store'],
    [
      'src/cli/controller.ts',
      '../playground/start.ts',
      'src/cli/controller.ts imports src/playground/start.ts: only src/cli/up.ts may start the playground',
    ],
    ['src/ip/cidr.ts', '../../bench/ip.ts', 'src/ip/cidr.ts leaves src: it imports bench/ip.ts'],
  ])('an arrow that points up is told: %s to %s', (from, specifier, told) => {
    expect(upwardArrows(imported(from, specifier))).toEqual([told])
  })

  test.each([
    ['src/apiserver/call.ts', '../store/store.ts'],
    ['src/store/lmdb.ts', '../limits.ts'],
    ['src/main.ts', './cli/up.ts'],
    ['src/controllers/capi/desk.ts', '../office/office.ts'],
    ['src/controllers/desks.ts', './capi/desk.ts'],
    ['src/controllers/office/component.ts', '../component.ts'],
    ['src/controllers/office/webhooks/webhooks.ts', '../../../admission/webhook.ts'],
    ['src/cli/up.ts', '../playground/start.ts'],
    ['src/ip/cidr.ts', './address.ts'],
    ['src/ip/cidr.ts', 'node:net'],
  ])('an arrow that points down is fine: %s to %s', (from, specifier) => {
    expect(upwardArrows(imported(from, specifier))).toEqual([])
  })

  test('imports are found in every form they are written in', () => {
    const text = [
      "import { a } from './a.ts'",
      "import type { b } from './b.ts'",
      'import {',
      '  c,',
      "} from './c.ts'",
      "import './d.ts'",
      "export { e } from './e.ts'",
      "const f = await import('./f.ts')",
      "const g = new URL('./g.json', import.meta.url)",
    ].join('\n')
    const found = importsOf('src/ip/x.ts', text).map(({ to }) => to)
    expect(found.toSorted((one, other) => String(one).localeCompare(String(other)))).toEqual(
      ['a.ts', 'b.ts', 'c.ts', 'd.ts', 'e.ts', 'f.ts', 'g.json'].map(name => `src/ip/${name}`),
    )
  })
})

describe('what src imports', () => {
  test('is never a test', () => {
    expect(importsOfTests(imports)).toEqual([])
    expect(importsOfTests(imported('src/ip/a.ts', './b.test.ts'))).toHaveLength(1)
    expect(importsOfTests(imported('src/ip/a.ts', '../../test/world.ts'))).toHaveLength(1)
  })

  test('is named with its ending', () => {
    expect(vagueImports(imports)).toEqual([])
    expect(vagueImports(imported('src/ip/a.ts', './b'))).toHaveLength(1)
  })

  test('is a declared dependency, and every declared dependency is imported', () => {
    const { dependencies } = JSON.parse(read('package.json')) as { dependencies: Record<string, string> }
    const used = packagesOf(imports)
    expect([...used].filter(name => !(name in dependencies))).toEqual([])
    // Read as text at run time: its declarations hold the descriptions of the built-in fields.
    expect(Object.keys(dependencies).filter(name => !used.has(name) && name !== 'kubernetes-types')).toEqual([])
    expect([...packagesOf(imported('src/ip/a.ts', '@scope/name/part.js'))]).toEqual(['@scope/name'])
  })
})

test('undici is loaded as a whole by the API server and by backups alone: its index costs every process ten megabytes', () => {
  const loadsIndex = (text: string): boolean => /^import (?!type )[^']*'undici'$/m.test(text)
  const whole = ['src/apiserver/admission/wire.ts', 'src/cli/backup.ts']
  expect(sources.filter(path => !path.endsWith('.d.ts') && loadsIndex(read(path)))).toEqual(whole)
  expect(loadsIndex("import { Agent } from 'undici'")).toBe(true)
  expect(loadsIndex("import type { Agent } from 'undici'")).toBe(false)
})

describe('the files of the repository', () => {
  test('hold no barrel', () => {
    expect(sources.filter(path => isBarrel(read(path)))).toEqual([])
    expect(isBarrel("// All of it.\nexport * from './a.ts'\nexport {\n  b,\n} from './b.ts'\n")).toBe(true)
    expect(isBarrel("export { a } from './a.ts'\nexport const b = 1\n")).toBe(false)
  })

  test('hold nothing that is true on one machine only', () => {
    const texts = files.filter(path => /^(?:src|docs|bench|scripts|test|config|charts|\.ci)\/|^[^/]+$/.test(path))
    const readable = texts.filter(path => /\.(?:ts|md|sh|json|yaml|yml|tpl|txt|go|tla|cfg)$|^\.ci\//.test(path))
    const judged = readable.filter(path => !path.startsWith('test/tidy/') && !path.endsWith('package-lock.json'))
    expect(judged.length).toBeGreaterThan(150)
    for (const part of [/^config\/.*\.yaml$/, /^charts\/.*\.tpl$/, /\.tla$/]) {
      expect(judged.filter(path => part.test(path)).length, `${part}`).toBeGreaterThan(0)
    }
    expect(judged.flatMap(path => tracesIn(path, read(path)))).toEqual([])
    expect(tracesIn('a.ts', "const file = '/work/notes'")).toHaveLength(1)
    expect(tracesIn('a.ts', '// see issue #12')).toHaveLength(1)
    expect(tracesIn('a.md', 'curl https://example.com/home/page')).toEqual([])
  })

  test('hold a lock file that names no host', () => {
    const lockfile = read('package-lock.json')
    expect(lockfile).toContain('"integrity"')
    expect(hostsIn(lockfile)).toEqual([])
    expect(hostsIn('"resolved": "https://registry.example/a.tgz"')).toHaveLength(1)
  })
})
