// clusterctl, as people run it, with its output kept for the case that it fails.

import { spawn } from 'node:child_process'
import { join } from 'node:path'

/** Answers with all of its output; throws with it when it failed. */
export type Clusterctl = (args: readonly string[], kubeconfig: string) => Promise<string>

export function clusterctlAt(path: string, config: string, home: string): Clusterctl {
  return (args, kubeconfig) =>
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
      child.stdout.on('data', chunk => {
        said += String(chunk)
      })
      child.stderr.on('data', chunk => {
        said += String(chunk)
      })
      child.once('error', fail)
      child.once('close', code => {
        if (code === 0) return done(said)
        fail(new Error(`clusterctl ${args[0]} ended with ${code}:\n${said.trimEnd()}`))
      })
    })
}
