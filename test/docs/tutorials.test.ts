// The pages that need no more than `mooring up` work as they are written.

import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { theBuild } from '../harness/build.ts'
import { mooringRuns, untilReady } from '../harness/mooring.ts'
import { follow, stepsOf } from './pages.ts'

const { home, start } = mooringRuns('mooring-tutorial-')
const run = promisify(execFile)
const hasKubectl = await run('kubectl', ['version', '--client']).then(
  () => true,
  () => false,
)

describe.skipIf(!hasKubectl)('the page', () => {
  test.each([
    'tutorials/first-vm.md',
    'tutorials/first-claim.md',
    'how-to/import-a-vm.md',
    'how-to/live-migration-network.md',
  ])(
    '%s works as it is written',
    async page => {
      const steps = stepsOf(readFileSync(join('docs', page), 'utf8'))
      // The server is that of this test: the first commands start it, and say where it is.
      const own = steps.filter(({ commands }) => /^npm |^export KUBECONFIG=/.test(commands))
      expect(own.length).toBeGreaterThan(0)
      const data = join(home, basename(page, '.md'))
      const process = start(['up', '--data', data, '--listen', '127.0.0.1:0', '--dashboard', '127.0.0.1:0'])
      const { kubeconfig } = await untilReady(process)
      // Kinds that a desk waits for would have a reader wait too.
      expect(process.complaints()).not.toContain('kubevirt.io is not installed')
      const { main } = await theBuild()
      const env = { ...globalThis.process.env, KUBECONFIG: kubeconfig }
      for (const { commands, shown } of steps) {
        const left = commands
          .split('\n')
          .filter(line => !/^npm |^export KUBECONFIG=|^alias mooring=/.test(line))
          .map(line => line.replace(/^(until )?mooring /, '$1node dist/main.js '))
          .join('\n')
        if (left.trim() === '') continue
        await follow({ commands: left.replaceAll('node dist/main.js', `node ${main}`), shown }, env)
      }
    },
    300_000,
  )
})
