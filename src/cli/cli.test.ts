import { once } from 'node:events'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test, vi } from 'vitest'
import { parseAllDocuments } from 'yaml'
import {
  anywhere,
  connectWith,
  mooringRuns,
  type Process,
  untilReady,
  withoutPrivileges,
} from '../../test/harness/mooring.ts'
import { aConfigMap, configMaps } from '../../test/harness/objects.ts'
import { parseHostPort } from './host-port.ts'
import { runProgram } from './program.ts'

const { home, start, usedData } = mooringRuns('mooring-cli-')

function mooring(...args: string[]): Process {
  return start(args)
}

/** Root too is held to the modes of files. */
function asPlainUser(...args: string[]): Process {
  return start(args, withoutPrivileges)
}

const up = (data: string, ...more: string[]) => mooring('up', '--data', data, ...anywhere, ...more)

async function refusal(process: Process): Promise<{ code: number | null; text: string }> {
  const { code } = await process.ended
  return { code, text: process.complaints() }
}

class Ended extends Error {
  readonly code: number
  constructor(code: number) {
    super(`mooring ended with ${code}`)
    this.code = code
  }
}

/** A command that ends before it has begun, in this process: help and mistakes need none of their own. */
async function answer(...args: string[]): Promise<{ code: number; text: string }> {
  const said: string[] = []
  const hear = (chunk: unknown): true => {
    said.push(String(chunk))
    return true
  }
  const spies = [
    vi.spyOn(process.stdout, 'write').mockImplementation(hear),
    vi.spyOn(process.stderr, 'write').mockImplementation(hear),
    vi.spyOn(console, 'error').mockImplementation(hear),
    vi.spyOn(process, 'exit').mockImplementation(code => {
      throw new Ended(Number(code))
    }),
  ]
  try {
    await runProgram(args)
  } catch (error) {
    if (!(error instanceof Ended)) throw error
    return { code: error.code, text: said.join('') }
  } finally {
    for (const spy of spies) spy.mockRestore()
  }
  throw new Error(`mooring ${args.join(' ')} goes on`)
}

async function stop(process: Process): Promise<void> {
  process.child.kill('SIGTERM')
  expect(await process.ended).toEqual({ code: 0, signal: null })
}

describe('the command line', () => {
  test.each([
    [['--help'], ['Usage: mooring', 'up', 'backup', 'restore']],
    [
      ['up', '--help'],
      ['--data', '--listen', '--kubeconfig', '--dashboard', '127.0.0.1:7443'],
    ],
    [
      ['backup', '--help'],
      ['--data', 'must be absent or empty'],
    ],
    [
      ['restore', '--help'],
      ['--data', 'must be absent or empty'],
    ],
    [
      ['vm', '--help'],
      ['list', 'start', 'stop', 'restart', 'migrate', 'delete'],
    ],
    [
      ['vm', 'migrate', '--help'],
      ['--namespace', '--kubeconfig', '--context', '--wait'],
    ],
    [
      ['migration-network', 'plan', '--help'],
      ['--cluster-network', '--bridge', '--exclude', 'Examples:'],
    ],
    [
      ['vsphere', 'manifests', '--help'],
      ['--infra-id', '--with-pools', 'Examples:'],
    ],
  ])('explains itself with %j', async (args, words) => {
    const { code, text } = await answer(...args)
    expect(code).toBe(0)
    for (const word of words) expect(text).toContain(word)
  })

  test('is read as it is by the program, whose help goes to stdout and whose complaints go to stderr', async () => {
    const helped = mooring('--help')
    expect((await helped.ended).code).toBe(0)
    expect(helped.output()).toContain('Usage: mooring')
    expect(await refusal(mooring('sail'))).toEqual({ code: 2, text: expect.stringContaining('unknown command') })
  })

  test.each(['up', 'adopt', 'vsphere preflight', 'vsphere audit', 'backup', 'restore'])(
    'has a page that names every flag of %s, and no other',
    async name => {
      const { text } = await answer(...name.split(' '), '--help')
      const page = readFileSync(fileURLToPath(new URL('../../docs/reference/command-line.md', import.meta.url)), 'utf8')
      const [, section = ''] = page.split(new RegExp(`^## \`mooring ${name}\\b`, 'm'))
      const [about = ''] = section.split(/^## /m)
      const rows = [...about.matchAll(/^\| `(?:-\w`, `)?(--[\w-]+)/gm)].map(([, flag = '']) => flag)
      const flags = [...text.matchAll(/^ {2}(?:-\w, )?(--[\w-]+)/gm)].map(([, flag = '']) => flag)
      expect(rows.toSorted()).toEqual(flags.filter(flag => flag !== '--help').toSorted())
    },
  )

  test('has a page that names every flag of vsphere, and no other', async () => {
    const helps = []
    for (const name of ['validate', 'manifests', 'kargs']) helps.push((await answer('vsphere', name, '--help')).text)
    const page = readFileSync(fileURLToPath(new URL('../../docs/reference/command-line.md', import.meta.url)), 'utf8')
    const [, section = ''] = page.split(/^## `mooring vsphere`/m)
    const [about = ''] = section.split(/^## /m)
    const rows = [...about.matchAll(/^\| `(?:-\w`, `)?(--[\w-]+)/gm)].map(([, flag = '']) => flag)
    const flags = [...helps.join('\n').matchAll(/^ {2}(?:-\w, )?(--[\w-]+)/gm)].map(([, flag = '']) => flag)
    expect(rows.toSorted()).toEqual([...new Set(flags)].filter(flag => flag !== '--help').toSorted())
  })

  test('has a page that names every flag of migration-network, and no other', async () => {
    const helps = []
    for (const name of ['plan', 'set', 'status', 'reset']) {
      helps.push((await answer('migration-network', name, '--help')).text)
    }
    const page = readFileSync(fileURLToPath(new URL('../../docs/reference/command-line.md', import.meta.url)), 'utf8')
    const [, section = ''] = page.split(/^## `mooring migration-network`/m)
    const [about = ''] = section.split(/^## /m)
    const rows = [...about.matchAll(/^\| `(?:-\w`, `)?(--[\w-]+)/gm)].map(([, flag = '']) => flag)
    const flags = [...helps.join('\n').matchAll(/^ {2}(?:-\w, )?(--[\w-]+)/gm)].map(([, flag = '']) => flag)
    expect(rows.toSorted()).toEqual([...new Set(flags)].filter(flag => flag !== '--help').toSorted())
  })

  test.each([
    [['up', '--listen', 'nonsense'], '--listen is "nonsense", which is not HOST:PORT'],
    [['up', '--listen', '127.0.0.1:99999'], 'which is not HOST:PORT'],
    [['up', '--dashboard', ':1'], '--dashboard is ":1", which is not HOST:PORT'],
    [['up', '--dashboard', '0.0.0.0:0'], 'is not an address of this machine alone'],
    [['up', '--dashboard', 'example.com:7080'], 'or add --insecure-dashboard'],
    [['up', '--listen', '0.0.0.0:7080'], '--listen 0.0.0.0:7080 and --dashboard 127.0.0.1:7080 are one port'],
    [['up', '--data', ''], '--data is empty'],
    [['up', '--kubeconfig', ''], '--kubeconfig is empty'],
    [['up', '--history', '0'], 'is "0", which is not a whole number of seconds from 1 on'],
    [['up', '--desks', 'none,capi'], 'none does not go together with desks'],
    [['up', '--desks', 'capi,toString'], '--desks does not know "toString"'],
    [['up', '--playground', 'some'], '--playground does not know "some"'],
    [['controller', '--playground', 'all'], 'unknown option'],
    [['vm', 'start'], 'missing required argument'],
    [['vm', 'list', '-n', 'Bad Name'], '--namespace is "Bad Name", which is not the name of a namespace'],
    [['vsphere', 'validate'], 'missing required argument'],
    [['vsphere', 'manifests', 'install-config.yaml'], 'needs --out or --dry-run'],
    [['vsphere', 'preflight', '--scale', 'workers-0'], '--scale is "workers-0", which is not SET=N'],
    [['migration-network', 'status', '-o', 'xml'], '--output does not know "xml"'],
    [['migration-network', 'set'], 'no network is named'],
    [['migration-network', 'plan', '--bridge', 'br0', '--vlan', 'x'], '--vlan is "x"'],
    [['vsphere', 'audit', '-o', 'xml'], '--output does not know "xml"'],
    [['definitions'], 'missing required argument'],
    [['definitions', 'capi'], 'there is nothing to print for capi'],
    [['definitions', 'toString'], '--desks does not know "toString"'],
    [['up', '--unknown'], 'unknown option'],
    [['sail'], 'unknown command'],
    [['backup'], 'missing required argument'],
    [['backup', ''], 'the name of the directory is empty'],
    [['restore', 'somewhere', '--data='], '--data is empty'],
    [['adopt', '--back', '--namespace', 'Bad Name'], '--namespace is "Bad Name", which is not the name of a namespace'],
    [['adopt'], '--from takes one of: in-cluster, metal3'],
    [['adopt', '--back', '--from', 'metal3'], 'the guide says how to go back to Metal3'],
    [['adopt', '--from', 'metal3', '-o', 'xml'], '--output does not know "xml"'],
  ])('refuses %j as a mistake of usage', async (args, message) => {
    const { code, text } = await answer(...args)
    expect(text).toContain(message)
    expect(code).toBe(2)
  })

  test('prints the definition that the desk vm needs, and nothing else on stdout', async () => {
    const process = mooring('definitions', 'vm')
    expect((await process.ended).code).toBe(0)
    const definitions = parseAllDocuments(process.output()).map(document => document.toJS())
    expect(definitions).toMatchObject([
      { kind: 'CustomResourceDefinition', metadata: { name: 'ipamclaims.k8s.cni.cncf.io' } },
    ])
  })

  test('says in two lines that this Node is too old, before anything is loaded that it could stumble over', async () => {
    const old = 'Object.defineProperty(process,%22versions%22,{value:{...process.versions,node:%2218.12.0%22}})'
    const process = start(['up'], ['env', `NODE_OPTIONS=--import=data:text/javascript,${old}`])
    const { code, text } = await refusal(process)
    expect(text).toBe('mooring: this is Node 18.12.0, and Mooring needs 20.19 or newer\nInstall a newer Node.\n')
    expect(code).toBe(3)
  })

  test.each([
    ['127.0.0.1:0', { host: '127.0.0.1', port: 0, isIP: true }],
    ['[::1]:7443', { host: '::1', port: 7443, isIP: true }],
    ['localhost:1', { host: 'localhost', port: 1, isIP: false }],
  ])('reads %s', (text, expected) => {
    expect(parseHostPort('--listen', text)).toEqual(expected)
  })
})

describe('mooring up, where it cannot', () => {
  test('says which port is taken, and by which flag to change it', async () => {
    const taken = createServer()
    taken.listen(0, '127.0.0.1')
    await once(taken, 'listening')
    const { port } = taken.address() as { port: number }
    const where = `127.0.0.1:${port}`
    const data = join(home, 'port')
    const api = await refusal(mooring('up', '--data', data, '--listen', where, '--dashboard', '127.0.0.1:0'))
    expect(api).toMatchObject({ code: 3, text: expect.stringContaining(`${where} is in use by another program`) })
    expect(api.text).toContain('--listen')
    const page = await refusal(mooring('up', '--data', data, '--listen', '127.0.0.1:0', '--dashboard', where))
    expect(page.text.split('\n').slice(-3)).toEqual([
      `mooring: ${where} is in use by another program`,
      'Stop it, or choose another port with --dashboard.',
      '',
    ])
    expect(page.text).not.toContain('    at ')
    expect(page.code).toBe(3)
    taken.close()
  })

  test('refuses a directory that is a file', async () => {
    const file = join(home, 'file')
    writeFileSync(file, 'mine')
    const { code, text } = await refusal(up(file))
    expect(text).toContain('is not a directory')
    expect(code).toBe(3)
    expect(readFileSync(file, 'utf8')).toBe('mine')
  })

  test.runIf(process.platform === 'linux').each([
    ['--data', ['--data', '/proc/mooring/data']],
    ['--kubeconfig', ['--kubeconfig', '/proc/mooring/kubeconfig']],
  ])('says at once that nothing can be made where %s leads', async (flag, args) => {
    const data = join(home, 'odd')
    const all = ['--data', data, '--desks', 'none', '--listen', '127.0.0.1:0', '--dashboard', '127.0.0.1:0', ...args]
    const { code, text } = await refusal(mooring('up', ...all))
    expect(text).toMatch(/the directory \/proc\/.* cannot be made \(ENOENT\)/)
    expect(text).toContain(flag)
    expect(code).toBe(3)
  })

  test.runIf(process.platform === 'linux')('refuses a directory that cannot be written', async () => {
    const data = join(home, 'locked')
    mkdirSync(data)
    chmodSync(data, 0o500)
    const { code, text } = await refusal(asPlainUser('up', '--data', data, ...anywhere))
    chmodSync(data, 0o700)
    expect(text).toContain('cannot be written')
    expect(code).toBe(3)
  })

  test.runIf(process.platform === 'linux')('says that a kubeconfig cannot be written, without a stack', async () => {
    const place = join(home, 'read-only')
    mkdirSync(place, { mode: 0o500 })
    const file = join(place, 'kubeconfig')
    const process = asPlainUser('up', '--data', join(home, 'no-kubeconfig'), '--kubeconfig', file, ...anywhere)
    expect(await refusal(process)).toEqual({
      code: 3,
      text: `mooring: the kubeconfig ${file} cannot be written (EACCES)\nChoose another place with --kubeconfig.\n`,
    })
  })

  test('leaves no key beside a kubeconfig that is a directory', async () => {
    const place = join(home, 'place')
    const directory = join(place, 'kubeconfig')
    mkdirSync(directory, { recursive: true })
    const { code, text } = await refusal(up(join(home, 'no-place'), '--kubeconfig', directory))
    expect(text).toBe(`mooring: the kubeconfig ${directory} is a directory\nChoose another place with --kubeconfig.\n`)
    expect(code).toBe(3)
    expect(readdirSync(place)).toEqual(['kubeconfig'])
  })

  test('refuses data of another program, and leaves it alone', async () => {
    const data = join(home, 'foreign')
    mkdirSync(join(data, 'store'), { recursive: true, mode: 0o700 })
    writeFileSync(join(data, 'store', 'data.mdb'), 'this is not ours '.repeat(1_000))
    const before = readFileSync(join(data, 'store', 'data.mdb'))
    const { code, text } = await refusal(up(data))
    expect(text).not.toContain('a fault of ours')
    expect(code).toBe(4)
    expect(readFileSync(join(data, 'store', 'data.mdb')).equals(before)).toBe(true)
  })

  test('refuses a damaged key in one sentence', async () => {
    const data = await usedData('key')
    writeFileSync(join(data, 'pki', 'ca.pem'), 'garbage')
    const { code, text } = await refusal(up(data))
    expect(text).toBe(
      `mooring: ${join(data, 'pki', 'ca.pem')} is damaged: it holds no certificate\n` +
        'Bring the file back from a backup, or move it away to have a new one made.\n',
    )
    expect(code).toBe(4)
  })

  test('says which keys were missing and are made anew, and what that means', async () => {
    const data = join(home, 'lost-keys')
    const first = await ready(up(data))
    await stop(first)
    expect(first.complaints()).not.toContain('made anew')
    for (const name of ['ca', 'admin', 'service-account']) rmSync(join(data, 'pki', `${name}.pem`))
    const second = await ready(up(data))
    await stop(second)
    expect(second.complaints()).toContain('kubeconfigs and client certificates from before are void')
    expect(second.complaints()).toContain('service account tokens from before are void')
    rmSync(join(data, 'pki', 'admin.pem'))
    const third = await ready(up(data))
    await stop(third)
    expect(third.complaints()).toContain("the administrator's certificate was missing and is made anew")
    expect(third.complaints()).not.toContain('void')
  })

  test('refuses data that another one works on, and names it', async () => {
    const data = join(home, 'shared')
    const first = await ready(up(data))
    const { code, text } = await refusal(up(data))
    expect(text).toContain(String(first.child.pid))
    expect(text).not.toContain('a fault of ours')
    expect(code).toBe(4)
    await stop(first)
  })
})

async function ready(process: Process): Promise<Process> {
  await untilReady(process)
  return process
}

describe('mooring up --playground all', () => {
  test('serves virtual machines from the moment that it is ready, on new data too', async () => {
    const process = up(join(home, 'new-playground'), '--desks', 'vm', '--playground', 'all')
    await untilReady(process)
    const health = /^health +(\S+)$/m.exec(process.output())?.[1] ?? ''
    expect(await (await fetch(`${health}/vm`)).text()).toBe('ok')
    await stop(process)
  })

  test('says that it stands in, and mooring vm starts, moves and deletes a machine there', async () => {
    const process = up(join(home, 'playground'), '--playground', 'all')
    const { kubeconfig } = await untilReady(process)
    expect(process.output()).toContain('playground   (stand-in) of KubeVirt and of three nodes')
    const remote = connectWith(kubeconfig)
    const spec = { runStrategy: 'Halted', template: { spec: { domain: {} } } }
    const machine = { apiVersion: 'kubevirt.io/v1', kind: 'VirtualMachine', metadata: { name: 'web' }, spec }
    await remote.send('POST', '/apis/kubevirt.io/v1/namespaces/default/virtualmachines', machine)
    await remote.close()
    const vm = async (...args: string[]) => {
      const command = mooring('vm', ...args, '--kubeconfig', kubeconfig)
      const { code } = await command.ended
      return [code, command.output().trim().split('\n').at(-1)]
    }
    expect(await vm('start', 'web', '--wait')).toEqual([0, expect.stringMatching(/^web runs on playground-[123]$/)])
    expect(await vm('migrate', 'web', '--wait')).toEqual([0, 'web has moved'])
    expect(await vm('list')).toEqual([0, expect.stringMatching(/^web +Running +playground-[123] +-$/)])
    expect(await vm('delete', 'web', '--wait')).toEqual([0, 'web is gone'])
    expect(await vm('start', 'web')).toEqual([5, ''])
    await stop(process)
  })
})

describe('mooring up, stopped and started', () => {
  test.each(['SIGTERM', 'SIGINT'] as const)('ends with 0 on %s, also with a watch open', async signal => {
    const process = up(join(home, `stop-${signal}`))
    const { kubeconfig } = await untilReady(process)
    const remote = connectWith(kubeconfig)
    const watch = remote.lines(`${configMaps()}?watch=true`)
    await watch.next()
    process.child.kill(signal)
    expect(await process.ended).toEqual({ code: 0, signal: null })
    await watch.return()
    await remote.close()
  })

  test('ends with 0 on a signal while it starts, and does not say that it is ready', async () => {
    const process = mooring(
      'up',
      '--data',
      join(home, 'early'),
      '--listen',
      '127.0.0.1:0',
      '--dashboard',
      '127.0.0.1:0',
    )
    // Its own work has begun when the store is there; desks and kinds come after.
    while (!existsSync(join(home, 'early', 'pki', 'service-account.pem'))) {
      await new Promise(resolve => setImmediate(resolve))
    }
    process.child.kill('SIGTERM')
    expect(await process.ended).toEqual({ code: 0, signal: null })
    expect(process.output()).toBe('')
    expect(process.complaints()).toMatch(/^\S+ info {2}mooring stops signal=SIGTERM\n$/)
  })

  test('writes a line for each request, to a private file or to stdout', async () => {
    const file = join(home, 'audit.jsonl')
    const first = up(join(home, 'audited'), '--audit', file)
    const { kubeconfig } = await untilReady(first)
    const remote = connectWith(kubeconfig)
    await remote.send('POST', configMaps(), aConfigMap('seen', { password: 'canary' }))
    await remote.close()
    await stop(first)
    expect(statSync(file).mode & 0o777).toBe(0o600)
    const lines = readFileSync(file, 'utf8').trim().split('\n')
    const events = lines.map(line => JSON.parse(line) as Record<string, unknown>)
    expect(events.filter(({ verb }) => verb === 'create')).toContainEqual(
      expect.objectContaining({
        user: { username: 'kubernetes-admin', groups: expect.arrayContaining(['system:masters']) },
        sourceIPs: ['127.0.0.1'],
        objectRef: { resource: 'configmaps', namespace: 'default', name: 'seen', apiVersion: 'v1' },
        responseStatus: { metadata: {}, code: 201 },
      }),
    )
    expect(lines.join()).not.toContain('canary')

    symlinkSync(file, join(home, 'link.jsonl'))
    expect(await refusal(up(join(home, 'audited'), '--audit', join(home, 'link.jsonl')))).toMatchObject({
      code: 3,
      text: expect.stringContaining('is a symbolic link\n'),
    })

    const second = up(join(home, 'audited'), '--audit', '-')
    await heard(second, 'mooring is ready')
    const again = connectWith(kubeconfig)
    await again.send('GET', '/version').catch(() => {})
    await again.close()
    await stop(second)
    for (const line of second.output().trim().split('\n').filter(Boolean))
      expect(JSON.parse(line)).toHaveProperty('auditID')
  })

  test('goes on where it was: objects, versions, certificates, tokens', async () => {
    const data = join(home, 'again')
    const first = up(data)
    const before = await untilReady(first)
    const one = connectWith(before.kubeconfig)
    const made = await one.send('POST', configMaps(), aConfigMap('kept', { a: '1' }))
    const asked = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} }
    const token = await one.send('POST', '/api/v1/namespaces/default/serviceaccounts/default/token', asked)
    await one.close()
    await stop(first)
    const keys = readdirSync(join(data, 'pki')).map(name => readFileSync(join(data, 'pki', name), 'utf8'))

    const second = up(data, '--kubeconfig', join(home, 'elsewhere', 'kubeconfig'))
    const after = await untilReady(second)
    expect(after.kubeconfig).toBe(join(home, 'elsewhere', 'kubeconfig'))
    const two = connectWith(after.kubeconfig)
    expect((await two.send('GET', `${configMaps()}/kept`)).body).toEqual(made.body)
    const next = await two.send('POST', configMaps(), aConfigMap('next'))
    const version = ({ body }: typeof made) => Number((body.metadata as { resourceVersion: string }).resourceVersion)
    expect(version(next)).toBeGreaterThan(version(made))
    const review = await two.send('POST', '/apis/authentication.k8s.io/v1/tokenreviews', {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenReview',
      spec: { token: (token.body.status as { token: string }).token },
    })
    expect(review.body.status).toMatchObject({ authenticated: true })
    expect(readdirSync(join(data, 'pki')).map(name => readFileSync(join(data, 'pki', name), 'utf8'))).toEqual(keys)
    await two.close()
    await stop(second)
  })
})

describe('mooring controller', () => {
  test('one that is killed is followed by the other, one that lost its lease ends with 3, one that is stopped with 0', async () => {
    // With its own desks, for the sake of the kinds they install.
    const { kubeconfig } = await untilReady(up(join(home, 'controlled'), '--desks', 'capi'))
    const replica = () =>
      mooring(
        'controller',
        `--kubeconfig=${kubeconfig}`,
        '--desks=capi',
        '--leader-elect=true',
        '--leader-elect-lease-duration=5s',
        '--leader-elect-renew-deadline=4s',
        '--leader-elect-retry-period=200ms',
        '--health-probe-bind-address=127.0.0.1:0',
        '--diagnostics-address=127.0.0.1:0',
        '--webhook-port=0',
      )
    const first = replica()
    await heard(first, '"became leader"')
    const second = replica()
    await heard(second, 'every kind and permission that is needed is there')
    expect(second.complaints()).not.toContain('"became leader"')
    first.child.kill('SIGKILL')
    await heard(second, '"became leader"')

    const remote = connectWith(kubeconfig)
    // The server itself includes the roles for users in its own.
    const { body: admin } = await remote.send('GET', '/apis/rbac.authorization.k8s.io/v1/clusterroles/admin')
    expect(JSON.stringify(admin)).toContain('"addresspools"')
    const lease = '/apis/coordination.k8s.io/v1/namespaces/default/leases/mooring-controller'
    const take = async () => {
      const { body } = await remote.send('GET', lease)
      const spec = { holderIdentity: 'thief', leaseDurationSeconds: 3600 }
      return (await remote.send('PUT', lease, { ...body, spec })).code === 200
    }
    // It may be renewed in between.
    while (!(await take()));
    expect(await refusal(second)).toMatchObject({
      code: 3,
      text: expect.stringContaining('"mooring controller ended","error":"the lease mooring-controller was lost"'),
    })

    expect(await remote.send('DELETE', lease)).toMatchObject({ code: 200 })
    await remote.close()
    const third = replica()
    await heard(third, 'mooring controller is working')
    await stop(third)
    for (const line of third.complaints().trimEnd().split('\n')) expect(JSON.parse(line)).toHaveProperty('msg')
    expect(third.complaints()).toContain('"msg":"mooring stops","signal":"SIGTERM"')
  }, 180_000)

  test.each([
    [['--leader-elct'], '(Did you mean --leader-elect?)'],
    [['--kubeconfig='], '--kubeconfig is empty'],
    [['--namespace', 'Bad Name'], '--namespace is "Bad Name", which is not the name of a namespace'],
    [['--leader-elect-namespace', 'a.b'], 'is "a.b", which is not the name of a namespace'],
    [['--desks', 'none'], '--desks does not know "none"'],
    [['--profiling', '--insecure-diagnostics'], 'would let any client slow this process down'],
    [['--leader-elect-renew-deadline=20s'], 'must grow in this order'],
    [['--tls-min-version=VersionSSL3'], '--tls-min-version is "VersionSSL3"'],
    [['--webhook-client-names=kube-apiserver'], '--webhook-client-ca does not name the authority that signs'],
    [['--webhook-client-ca='], '--webhook-client-ca does not name the authority that signs'],
  ])('refuses %j as a mistake of usage', async (args, message) => {
    const { code, text } = await answer('controller', ...args)
    expect(text).toContain(message)
    expect(code).toBe(2)
  })
})

/** Resolves when it has said so. */
async function heard(process: Process, words: string): Promise<void> {
  while (!process.complaints().includes(words)) {
    const { stderr } = process.child
    await (stderr === null ? process.ended : Promise.race([once(stderr, 'data'), process.ended]))
    if (process.child.exitCode !== null || process.child.signalCode !== null)
      throw new Error(`mooring ended: ${process.complaints()}`)
  }
}

describe('backup and restore', () => {
  test('a backup of the running server becomes the same API elsewhere, and stays itself', async () => {
    const data = join(home, 'source')
    const first = up(data)
    const one = connectWith((await untilReady(first)).kubeconfig)
    const made = await one.send('POST', configMaps(), aConfigMap('kept', { a: '1' }))
    const copy = join(home, 'copy')
    const taken = mooring('backup', copy, '--data', data)
    expect((await taken.ended).code, taken.complaints()).toBe(0)
    expect(taken.output()).toContain(copy)
    await one.send('DELETE', `${configMaps()}/kept`)
    await one.close()
    await stop(first)

    const target = join(home, 'target')
    const restored = mooring('restore', copy, '--data', target)
    expect((await restored.ended).code, restored.complaints()).toBe(0)
    const second = up(target)
    const two = connectWith((await untilReady(second)).kubeconfig)
    expect((await two.send('GET', `${configMaps()}/kept`)).body).toEqual(made.body)
    await two.close()
    await stop(second)
  })

  test('neither writes over what is there, nor reads what is no backup', async () => {
    const data = await usedData('precious')
    const backup = join(home, 'precious-backup')
    expect((await mooring('backup', backup, '--data', data).ended).code).toBe(0)
    const again = await refusal(mooring('backup', backup, '--data', data))
    expect(again).toMatchObject({ code: 3, text: expect.stringContaining('is not empty') })
    const over = await refusal(mooring('restore', backup, '--data', data))
    expect(over).toMatchObject({ code: 4, text: expect.stringContaining('already holds data') })
    const nothing = await refusal(mooring('restore', join(home, 'nowhere'), '--data', join(home, 'new')))
    expect(nothing).toMatchObject({ code: 3, text: expect.stringContaining('does not hold a backup') })
    const empty = await refusal(mooring('backup', join(home, 'b'), '--data', join(home, 'nothing')))
    expect(empty).toMatchObject({ code: 3, text: expect.stringContaining('there is no data') })
    rmSync(join(backup, 'pki', 'service-account.pem'))
    expect(await refusal(mooring('restore', backup, '--data', join(home, 'keyless')))).toEqual({
      code: 4,
      text:
        `mooring: the backup ${backup} is not whole: pki/service-account.pem is missing\n` +
        'Use another backup; this one was left as it is.\n',
    })
    expect(existsSync(join(home, 'keyless'))).toBe(false)
  })

  test('a data directory that a process works on is no backup', async () => {
    const data = join(home, 'live')
    const running = await ready(up(data))
    const { code, text } = await refusal(mooring('restore', data, '--data', join(home, 'from-live')))
    expect(text).toContain(`${data} is no backup: it is the data directory of the process ${running.child.pid}`)
    expect(code).toBe(4)
    await stop(running)
  })

  test.runIf(process.platform === 'linux')('data that may not be read is not said to be missing', async () => {
    const data = await usedData('closed')
    chmodSync(data, 0o000)
    const copied = await refusal(asPlainUser('backup', join(home, 'of-closed'), '--data', data))
    const brought = await refusal(asPlainUser('restore', data, '--data', join(home, 'from-closed')))
    chmodSync(data, 0o700)
    for (const { code, text } of [copied, brought]) {
      expect(text).toContain(`${join(data, 'store')} cannot be read (EACCES)`)
      expect(code).toBe(3)
    }
  })
})
