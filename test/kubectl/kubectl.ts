// Runs a scenario's command lines as its user would: in a directory with the scenario's files, with a kubeconfig whose
// namespace is the scenario's own.

import { spawn } from 'node:child_process'
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { normalise } from './normalise.ts'
import type { Scenario } from './scenario.ts'
import type { Outcome } from './transcript.ts'

export interface Session {
  run(command: string): Promise<Outcome>
  end(): Promise<void>
}

const commandMsMax = 60_000

export async function openSession(scenario: Scenario, kubeconfig: string): Promise<Session> {
  const dir = mkdtempSync(join(tmpdir(), 'mooring-kubectl-'))
  const own = join(dir, '.kubeconfig')
  copyFileSync(kubeconfig, own)
  for (const [name, content] of Object.entries(scenario.files ?? {})) writeFileSync(join(dir, name), content)
  const run = (command: string): Promise<Outcome> => shell(command, dir, own)
  const prepare = [
    `kubectl create namespace ${scenario.name}`,
    `kubectl config set-context --current --namespace=${scenario.name}`,
    // Controllers fill a namespace; pods are refused before that.
    'kubectl wait serviceaccount/default configmap/kube-root-ca.crt --for=create --timeout=60s',
    ...(scenario.before ?? []),
  ]
  for (const command of prepare) {
    const { exitCode, stderr } = await run(command)
    if (exitCode !== 0) throw new Error(`${command}: ${stderr}`)
  }
  return {
    run,
    async end() {
      await run(`kubectl delete namespace ${scenario.name} --wait=false`)
      rmSync(dir, { recursive: true, force: true })
    },
  }
}

function shell(command: string, dir: string, kubeconfig: string): Promise<Outcome> {
  return new Promise((done, fail) => {
    const child = spawn('/bin/sh', ['-c', command], {
      cwd: dir,
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: commandMsMax,
      env: {
        PATH: process.env.PATH,
        HOME: dir,
        TMPDIR: dir,
        TZ: 'UTC',
        KUBECONFIG: kubeconfig,
      },
    })
    const out: Buffer[] = []
    const err: Buffer[] = []
    child.stdout.on('data', (chunk: Buffer) => out.push(chunk))
    child.stderr.on('data', (chunk: Buffer) => err.push(chunk))
    child.once('error', fail)
    child.once('close', code =>
      done({
        command,
        stdout: normalise(Buffer.concat(out).toString('utf8')),
        stderr: normalise(Buffer.concat(err).toString('utf8')),
        exitCode: code ?? -1,
      }),
    )
  })
}
