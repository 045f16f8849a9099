// clusterctl, as people run it, with its output kept for the case that it fails.

import { spawn } from 'node:child_process'
import { join } from 'node:path'

/**
 * Answers with all of its output; throws with it when it failed. With `killAt`, it is killed as soon as its output is like that,
 * and has failed when it never is.
 */
export type Clusterctl = (args: readonly string[], kubeconfig: string, killAt?: RegExp) => Promise<string>

export function clusterctlAt(path: string, config: string, home: string): Clusterctl {
  return (args, kubeconfig, killAt) =>
    new Promise((done, fail) => {
      const child = spawn(path, [...args, '--config', config, '--kubeconfig', kubeconfig], {
        env: {
          ...process.env,
          // Without it, it looks for a newer clusterctl, and keeps what it found.
          CLUSTERCTL_DISABLE_VERSIONCHECK: 'true',
          // Asked for by the components of the provider for vSphere; its manager gets others.
          VSPHERE_USERNAME: 'unused',
          VSPHERE_PASSWORD: 'nothing',
          XDG_CONFIG_HOME: join(home, 'config'),
          XDG_CACHE_HOME: join(home, 'cache'),
        },
        stdio: ['ignore', 'pipe', 'pipe'],
      })
      let said = ''
      let isKilled = false
      const hear = (chunk: unknown) => {
        said += String(chunk)
        if (isKilled || killAt?.test(said) !== true) return
        isKilled = true
        child.kill('SIGKILL')
      }
      child.stdout.on('data', hear)
      child.stderr.on('data', hear)
      child.once('error', fail)
      child.once('close', code => {
        if (killAt === undefined ? code === 0 : isKilled) return done(said)
        fail(new Error(`clusterctl ${args[0]} ended with ${code}:\n${said.trimEnd()}`))
      })
    })
}
