// `npm run test:image`: the image is made twice, unpacked, and run as a container would run it: in a file system that holds
// nothing else, as a user without a name. Needs the right to mount and chroot.

import { spawn } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { buildImage } from '../../scripts/image/build.ts'
import { skippedExitCode } from '../../scripts/real/binaries.ts'
import { freePort } from '../../scripts/real/free-port.ts'
import { Sentences } from '../capi/sentences.ts'
import { mustRun, run } from '../install/run.ts'

const dir = mkdtempSync(join(tmpdir(), 'mooring-image-test-'))
const root = join(dir, 'root')
const sentences = new Sentences(line => console.log(line))

/** What would lead to another cluster, or warn about files that are not in the image. */
const bare = { KUBECONFIG: '', NODE_EXTRA_CA_CERTS: '' }

/** As the image says it is run, with /proc as every runtime mounts it. */
function inside(args: readonly string[]): [string, string[]] {
  const script = 'mkdir -p "$0/proc" && mount -t proc proc "$0/proc" && exec chroot --userspec=65532:65532 "$0" "$@"'
  return ['unshare', ['--mount', 'sh', '-c', script, root, '/usr/bin/node', '/app/dist/main.js', ...args]]
}

try {
  const reason = await whyNot()
  if (reason) {
    console.log(`skipped, because ${reason}`)
    process.exitCode = skippedExitCode
  } else {
    await sentences.chapter('The image', tell)
    console.log(`\n${sentences.closingLine()}`)
    process.exitCode = sentences.failed === 0 ? 0 : 1
  }
} finally {
  rmSync(dir, { recursive: true, force: true })
}

async function whyNot(): Promise<string | undefined> {
  if (process.platform !== 'linux') return 'an image is for Linux'
  const { code } = await run('unshare', ['--mount', 'chroot', '/', 'true'])
  if (code !== 0) return 'this user may not mount and chroot'
  const hasGo = await run('go', ['version']).then(
    said => said.code === 0,
    () => false,
  )
  return hasGo ? undefined : 'Go is not installed, and the CNI plugin is compiled with it'
}

async function tell(): Promise<void> {
  console.log('  making it, twice')
  const image = await buildImage()

  await sentences.it(`the same files give the same image: ${image.digest.slice(0, 19)}`, async () => {
    const { digest, archive } = await buildImage()
    if (digest !== image.digest || !archive.equals(image.archive)) throw new Error(`the second is ${digest}`)
  })

  await sentences.it('tar reads its layers', async () => {
    mkdirSync(root)
    for (const [i, layer] of image.layers.entries()) {
      const path = join(dir, `layer-${i}.tar`)
      writeFileSync(path, layer)
      await mustRun('tar', ['-xf', path, '-C', root])
    }
  })

  await sentences.it('tells its version', async () => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string }
    const told = await mustRun(...inside(['--version']), { env: bare })
    if (told.trim() !== version) throw new Error(told)
  })

  await sentences.it('holds the CNI plugin, which needs nothing of a node', async () => {
    const said = await mustRun('chroot', [root, '/app/cni/mooring'], { env: { CNI_COMMAND: 'VERSION' } })
    if (!said.includes('"1.1.0"')) throw new Error(said)
    const { code } = await run('ldd', [join(root, 'app/cni/mooring')])
    if (code === 0) throw new Error('it is linked to libraries')
  })

  await sentences.it('holds no shell', async () => {
    const { code } = await run('chroot', [root, '/bin/sh', '-c', 'true'])
    if (code === 0) throw new Error('there is one')
  })

  await sentences.it('controller says what it misses, in a sentence', async () => {
    const { code, err } = await run(...inside(['controller', '--kubeconfig', '/nowhere']), { env: bare })
    if (code === 0 || !err.includes('/nowhere') || err.includes('    at '))
      throw new Error(`ended with ${code}: ${err}`)
  })

  await sentences.it('up serves an API and its desks, writing nothing but its data', async () => {
    const [listen, dashboard] = [await freePort(), await freePort()]
    // As a volume would be mounted.
    mkdirSync(join(root, 'data'))
    chmodSync(join(root, 'data'), 0o777)
    const flags = [
      '--data',
      '/data/mooring',
      '--listen',
      `127.0.0.1:${listen}`,
      '--dashboard',
      `127.0.0.1:${dashboard}`,
    ]
    const [program, args] = inside(['up', ...flags])
    const child = spawn(program, args, { env: { ...process.env, ...bare }, stdio: ['ignore', 'pipe', 'pipe'] })
    let said = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', chunk => (said += String(chunk)))
    const ended = new Promise<void>(done => child.once('exit', () => done()))
    try {
      const deadline = Date.now() + 60_000
      while (!said.includes('mooring is ready')) {
        if (child.exitCode !== null || Date.now() > deadline) throw new Error(said)
        await delay(100)
      }
      const kinds = await (await fetch(`http://127.0.0.1:${dashboard}/metrics`)).text()
      if (!kinds.includes('mooring_store_objects')) throw new Error(kinds)
    } finally {
      child.kill('SIGTERM')
      await ended
    }
    const written = await mustRun('find', [root, '-newer', join(dir, 'layer-2.tar'), '-type', 'f'])
    const elsewhere = written.split('\n').filter(path => path !== '' && !path.startsWith(join(root, 'data/')))
    if (elsewhere.length > 0) throw new Error(elsewhere.join('\n'))
  })
}
