// The plugin by itself: what it hands on, and what it says when nothing answers. `mooring node` is played by a stand-in.

import { statSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { Sentences } from '../capi/sentences.ts'
import { run, type Said } from '../install/run.ts'
import { startStandIn } from './stand-in.ts'

const config = { cniVersion: '0.4.0', name: 'vms', type: 'bridge', ipam: { type: 'mooring' } }

export async function checkForwarder(sentences: Sentences, plugin: string, dir: string): Promise<void> {
  const socket = join(dir, 'stand-in.sock')
  const call = (command: string, input: string = JSON.stringify(config), env: Record<string, string> = {}) =>
    run(plugin, [], { input, env: { CNI_COMMAND: command, MOORING_CNI_SOCKET: socket, ...env } })

  await sentences.it('is a static program of at most two megabytes', async () => {
    const { size } = statSync(plugin)
    if (size > 2 * 1024 ** 2) throw new Error(`it has ${size} bytes`)
    if ((await run('ldd', [plugin])).code === 0) throw new Error('it is linked to libraries')
  })

  await sentences.it('answers VERSION by itself', async () => {
    const { supportedVersions } = JSON.parse(said(await call('VERSION'), 0)) as { supportedVersions: string[] }
    same(supportedVersions, ['0.3.1', '0.4.0', '1.0.0', '1.1.0'])
  })

  await sentences.it('says to a person who starts it that runtimes do, without waiting for input', async () => {
    const { code } = failureOf(await call('', ''))
    same(code, 4)
  })

  for (const [verb, code] of [
    ['ADD', 11],
    ['DEL', 11],
    ['CHECK', 11],
    ['GC', 11],
    ['STATUS', 50],
  ] as const) {
    await sentences.it(`answers ${verb} with code ${code} while mooring node is not there`, async () => {
      const failure = failureOf(await call(verb))
      same([failure.code, failure.cniVersion], [code, '0.4.0'])
      if (!failure.details?.includes(socket)) throw new Error(`details do not name the socket: ${failure.details}`)
    })
  }

  await sentences.it('hands on every CNI variable and the configuration as it came, and nothing else', async () => {
    const standIn = await startStandIn(socket, () => JSON.stringify({ exit: 0, stdout: '{"ips":[]}' }))
    try {
      const text = `{"name": "ü\\u0000\\n", "odd": "\u2028"}`
      const env = { CNI_CONTAINERID: 'c1', CNI_ARGS: 'A=1;B=2', CNI_NETNS_OVERRIDE: '1', SECRET: 'not yours' }
      same(said(await call('ADD', text, env), 0), '{"ips":[]}')
      const [asked] = standIn.asked
      same(asked?.stdin, text)
      const { SECRET: _, ...handedOn } = env
      same(asked?.env, { CNI_COMMAND: 'ADD', ...handedOn })
    } finally {
      await standIn.close()
    }
  })

  await sentences.it('takes its socket from its environment, never from a configuration', async () => {
    const failure = failureOf(
      await call(
        'ADD',
        JSON.stringify({ ...config, MOORING_CNI_SOCKET: '/run/other.sock', socket: '/run/other.sock' }),
      ),
    )
    if (failure.details?.includes('/run/other.sock')) throw new Error(failure.details)
  })

  await sentences.it('ends as it is told, also with an answer of a megabyte', async () => {
    const long = JSON.stringify({ code: 7, msg: 'x'.repeat(1024 ** 2) })
    const standIn = await startStandIn(socket, () => JSON.stringify({ exit: 1, stdout: long }))
    try {
      same(said(await call('ADD'), 1), long)
    } finally {
      await standIn.close()
    }
  })

  for (const [what, answer] of [
    ['is cut off', '{"exit": 0, "stdout": "{\\"ips'],
    ['is no JSON', 'no'],
    ['does not say whether it went well', '{"stdout": "{}"}'],
    ['never comes, since mooring node has ended', ''],
  ] as const) {
    await sentences.it(`takes an answer that ${what} for none`, async () => {
      const standIn = await startStandIn(socket, () => answer)
      try {
        same(failureOf(await call('DEL')).code, 11)
      } finally {
        await standIn.close()
      }
    })
  }

  await sentences.it('refuses a configuration without end', async () => {
    same(failureOf(await call('ADD', 'x'.repeat(5 * 1024 ** 2))).code, 7)
  })
}

export interface Failure {
  readonly cniVersion: string
  readonly code: number
  readonly msg: string
  readonly details?: string
}

function said({ code, out, err }: Said, expected: number): string {
  if (code !== expected) throw new Error(`it ended with ${code}: ${out}${err}`)
  return out
}

/** What a plugin says on its standard output when it fails. */
export const failureOf = (all: Said): Failure => JSON.parse(said(all, 1)) as Failure

export function same(seen: unknown, expected: unknown): void {
  if (!isDeepStrictEqual(seen, expected)) {
    throw new Error(`expected ${JSON.stringify(expected)}, saw ${JSON.stringify(seen)}`)
  }
}
