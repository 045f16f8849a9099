// A kernel whose bridges keep VLANs apart: that of this machine, where it can. Kernels of small virtual machines are often built without; then it
// is Debian's `user-mode-linux`, a whole Linux as one process. It reads the files of this machine, writes those of one folder alone, and
// has network namespaces of its own. It is spoken to over a tap.

import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { release } from 'node:os'
import { join } from 'node:path'
import { Unavailable } from '../../scripts/real/binaries.ts'
import { needDebian } from '../../scripts/real/debian.ts'
import { lastLines, type Processes } from '../capi/processes.ts'
import { until } from '../capi/until.ts'
import { mustRun, type RunOptions, run, type Said } from '../install/run.ts'

export interface Kernel {
  readonly name: string
  run(program: string, args: readonly string[], options?: RunOptions): Promise<Said>
  /** Where its programs find what listens on this socket. */
  reach(socket: string): Promise<string>
}

export const thisKernel: Kernel = { name: `Linux ${release()}`, run, reach: async socket => socket }

export async function kernelWithVLANs(dir: string, processes: Processes): Promise<Kernel> {
  return (await keepsVLANsApart()) ? thisKernel : startUserModeLinux(dir, processes)
}

async function keepsVLANsApart(): Promise<boolean> {
  const probe = `mooring-cni-${process.pid}-probe`
  await mustRun('ip', ['netns', 'add', probe])
  try {
    const { code } = await run('ip', ['-n', probe, 'link', 'add', 'br0', 'type', 'bridge', 'vlan_filtering', '1'])
    return code === 0
  } finally {
    await run('ip', ['netns', 'del', probe])
  }
}

const port = 7000
const memory = '512M'
/**
 * It keeps the registers of a program in as many bytes as processors had when it was written. Linux takes them back only whole, so where
 * a processor has more of them (AVX-512), its first program dies.
 */
const tooWide = 'ptrace set fp regs failed'
/** It starts in some seconds; a machine that is busy takes its time. */
const startsWithinMs = 90_000

async function startUserModeLinux(dir: string, processes: Processes): Promise<Kernel> {
  needDebian(
    { '/usr/bin/linux.uml': 'user-mode-linux', '/usr/bin/socat': 'socat', '/usr/bin/kmod': 'kmod' },
    console.log,
  )
  const [tap, subnet] = [`mo${process.pid}`, `169.254.${1 + (process.pid % 250)}`]
  const [here, there] = [`${subnet}.1`, `${subnet}.2`]
  const own = join(dir, 'user-mode-linux')
  mkdirSync(own, { recursive: true })
  const [init, log] = [join(own, 'init'), join(own, 'console.log')]
  writeFileSync(init, firstProgram(dir, there), { mode: 0o755 })
  const out = openSync(log, 'a')
  // Up before it starts: the first packet it sends into a tap that is down is its last.
  await mustRun('ip', ['tuntap', 'add', 'dev', tap, 'mode', 'tap'])
  processes.keep(async () => void (await run('ip', ['link', 'del', tap])))
  await mustRun('ip', ['address', 'add', `${here}/30`, 'dev', tap])
  await mustRun('ip', ['link', 'set', tap, 'up'])
  const wire = `vec0:transport=tap,ifname=${tap},depth=128,gro=0`
  const root = ['rootfstype=hostfs', 'root=/dev/root', 'ro', `init=${init}`]
  const consoles = ['con0=fd:0,fd:1', 'con=null', 'quiet']
  const child = spawn('linux.uml', [`mem=${memory}`, `uml_dir=${own}`, ...root, ...consoles, wire], {
    stdio: ['ignore', out, out],
    // Where its memory is: a file on a disk would be slow.
    env: { ...process.env, TMPDIR: '/dev/shm' },
  })
  processes.keep(() => ended(child))
  const mustRunOn = (what: string) => {
    if (child.exitCode !== null) throw new Error(`${what}: user-mode-linux ended:\n${lastLines(log)}`)
  }
  const ask: Kernel['run'] = async (program, args, options) => {
    mustRunOn(program)
    return runOver(there, program, args, options)
  }
  const isUp = async () => {
    if (readFileSync(log, 'utf8').includes(tooWide)) {
      throw new Unavailable(
        'user-mode-linux cannot keep the registers of this processor, and bridges of this kernel know no VLANs',
      )
    }
    const { code } = await ask('true', []).catch(() => ({ code: -1 }))
    return code === 0 ? undefined : lastLines(log)
  }
  await until('user-mode-linux answers', isUp, startsWithinMs)
  const { out: version } = await ask('uname', ['-r'])
  let count = 0
  return {
    name: `user-mode-linux ${version.trim()}`,
    run: ask,
    async reach(socket) {
      const relay = await passOn(socket, here)
      processes.keep(() => relay.close())
      const path = `/run/host-${count++}.sock`
      const listen = `nohup socat UNIX-LISTEN:${path},fork TCP:${here}:${relay.port} </dev/null >/dev/null 2>&1 &`
      await ask('sh', ['-c', listen])
      return path
    },
  }
}

/** The whole of its user space: the wire first, which stays silent if the module of bridges is there before it; a shell for each call. */
const firstProgram = (dir: string, address: string): string => `#!/bin/sh
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t tmpfs run /run
mount -t hostfs none ${dir} -o ${dir}
mkdir -p /run/kernel/lib
ln -s /usr/lib/uml/modules /run/kernel/lib/modules
ip link set lo up
ip address add ${address}/30 dev vec0
ip link set vec0 up
for module in bridge veth; do modprobe -d /run/kernel $module; done
exec socat TCP-LISTEN:${port},fork,reuseaddr EXEC:"sh -s"
`

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = new Promise<void>(done => child.once('exit', () => done()))
  child.kill('SIGTERM')
  const force = setTimeout(() => child.kill('SIGKILL'), 5_000)
  await gone
  clearTimeout(force)
}

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

/** A script in, and out come what it printed, its exit code and its complaints, each with a NUL after it. */
function runOver(
  host: string,
  program: string,
  args: readonly string[],
  { input = '', env = {} }: RunOptions = {},
): Promise<Said> {
  const variables = Object.entries(env).map(([key, value]) => `export ${key}=${quoted(value ?? '')}`)
  const words = [program, ...args].map(quoted).join(' ')
  // As few programs as can be: to start one takes long there.
  const script = [
    ...variables,
    'said=/run/said.$$',
    input === '' ? `${words} </dev/null 2>$said` : `printf %s ${quoted(input)} | ${words} 2>$said`,
    `printf '\\0%s\\0' $?; [ -s $said ] && cat $said; printf '\\0'`,
  ]
  return new Promise((done, fail) => {
    const socket = connect(port, host)
    let text = ''
    socket.setEncoding('utf8').on('data', chunk => {
      text += String(chunk)
      const [out = '', code, err = '', ...rest] = text.split('\0')
      if (rest.length === 0) return
      socket.end()
      done({ code: Number(code), out, err })
    })
    socket.once('error', fail)
    socket.once('close', () => fail(new Error(`${program} was cut off: ${text}`)))
    // It stays open until all is said: a shell whose input ends may be ended with its programs.
    socket.write(`${script.join('\n')}\n`)
  })
}

/** A port for a socket of this machine. */
async function passOn(socket: string, host: string): Promise<{ readonly port: number; close(): Promise<void> }> {
  const server = createServer({ allowHalfOpen: true }, one => {
    const other = connect({ path: socket, allowHalfOpen: true })
    one.on('error', () => other.destroy()).pipe(other)
    other.on('error', () => one.destroy()).pipe(one)
  })
  await new Promise<void>((done, fail) => {
    server.once('error', fail).listen(0, host, done)
  })
  server.unref()
  const address = server.address()
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    close: () => new Promise(done => server.close(() => done())),
  }
}
