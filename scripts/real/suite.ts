// A suite that runs on either server: reads which one from the command line, has the real programs ready where they are
// needed, and says "skipped, because ..." where they cannot be had.

import { parseArgs } from 'node:util'
import { startVitest } from 'vitest/node'
import { binary, skippedExitCode, Unavailable } from './binaries.ts'

export interface Suite {
  /** The vitest configuration. */
  readonly config: string
  /** The variable that names the server to the suite. */
  readonly serverVariable: string
  /** Printed when only a part was asked for. */
  readonly onPart?: () => void
}

export async function runSuite({ config, serverVariable, onPart }: Suite): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { server: { type: 'string', default: 'embedded' }, focus: { type: 'string' } },
  })
  if (values.server !== 'embedded' && values.server !== 'cluster') {
    console.error(`--server must be embedded or cluster, not ${values.server}`)
    process.exit(2)
  }
  process.env[serverVariable] = values.server
  if (values.focus || positionals.length > 0) onPart?.()
  try {
    if (values.server === 'cluster') {
      for (const program of ['etcd', 'kube-apiserver', 'kube-controller-manager'] as const) {
        await binary(program, line => console.error(line))
      }
    }
    const focus = values.focus && { testNamePattern: values.focus }
    const vitest = await startVitest('test', positionals, { config, watch: false, ...focus })
    await vitest.close()
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error
    console.log(`skipped, because ${error.message}`)
    process.exitCode = skippedExitCode
  }
}
