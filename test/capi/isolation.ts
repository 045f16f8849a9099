// Managers of Cluster API bind their webhook port on every interface and have no flag against it. Where the machine
// permits, the lane therefore runs in a network of its own in which there is nothing but a loopback interface, and in a
// process tree of its own, so that the kernel ends what it left behind. Elsewhere it runs as it is, on free ports.

import { spawn, spawnSync } from 'node:child_process'

const marker = 'MOORING_CAPI_ISOLATED'
const loopbackUp = 'ip link set lo up'

export function isIsolated(): boolean {
  return process.env[marker] !== undefined
}

/** Calls `end` when the process outside wants this one to end, or is gone. */
export function onOutsideEnds(end: () => void): void {
  process.stdin.on('end', end)
  process.stdin.resume()
}

/** Runs this very program again in isolation and answers with its exit code; undefined where that is not permitted. */
export async function runIsolated(): Promise<number | undefined> {
  const flags = ['--net', '--pid', '--fork', '--kill-child', '--mount-proc']
  if (process.getuid?.() !== 0) flags.unshift('--map-root-user')
  if (spawnSync('unshare', [...flags, 'sh', '-c', loopbackUp], { stdio: 'ignore' }).status !== 0) return undefined
  const self = [process.execPath, ...process.execArgv, ...process.argv.slice(1)]
  const child = spawn('unshare', [...flags, 'sh', '-c', `${loopbackUp} && exec "$@"`, 'sh', ...self], {
    env: { ...process.env, [marker]: '1' },
    stdio: ['pipe', 'inherit', 'inherit'],
  })
  // unshare handles no signals while it waits. The process inside notices when its input ends, also when this one is killed.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.stdin?.end())
  return new Promise((done, fail) => {
    child.once('error', fail)
    child.once('exit', code => done(code ?? 1))
  })
}
