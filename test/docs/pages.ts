// Pages that a reader can follow, word by word: every command ends well, unless the page shows that it is refused, and what the page shows below
// a command is what is printed. Names and times that differ from run to run are not compared, nor how wide a column is.

import { deepStrictEqual } from 'node:assert'
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { untilSame } from '../capi/until.ts'

const run = promisify(execFile)

export interface Step {
  readonly commands: string
  /** Empty where the page shows nothing. */
  readonly shown: string
}

/** Blocks of `sh`, each with the block without a language that follows it. */
export function stepsOf(page: string): Step[] {
  const blocks = [...page.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)].map(([, language, text = '']) => ({
    language,
    text,
  }))
  return blocks.flatMap(({ language, text }, at) => {
    const next = blocks[at + 1]
    return language === 'sh' ? [{ commands: text, shown: next?.language === '' ? next.text : '' }] : []
  })
}

const plain = (text: string): string[] =>
  text
    .replaceAll(/\b(virt-launcher-[a-z-]+|virt-handler|mooring-migrate)-[a-z0-9]{5}\b/g, '$1-x')
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g, 'TIME')
    .replaceAll(/\b\d+m?\d*s\b/g, 'AGE')
    .trim()
    .split('\n')
    .map(line => line.trim().replaceAll(/ {2,}/g, '  '))

/** What kubectl says of what a webhook refuses. */
const refusal = /^Error from server|^The \w+ "\S+" is invalid/m

/** What the page shows is the end of what was printed. The commands at the end that only look are given again until it is so. */
export async function follow({ commands, shown }: Step, env: NodeJS.ProcessEnv): Promise<void> {
  // Without --norc it reads a bashrc where its input is a socket, as here, and no shell is around it.
  const sh = async (text: string) => (await run('bash', ['--norc', '-euc', text], { env })).stdout
  if (refusal.test(shown)) {
    const said = await sh(commands.replaceAll(/(?<=.)$/gm, ' 2>&1 || true'))
    const of = (text: string) => plain(text).filter(line => !line.startsWith('Warning: resource'))
    return deepStrictEqual(of(said), of(shown))
  }
  const lines = commands.trimEnd().split('\n')
  const acting = lines.findLastIndex(line => !line.startsWith('kubectl get ')) + 1
  const done = await sh(lines.slice(0, acting).join('\n'))
  // Events of one second stand in any order.
  const inOrder = (text: string) => (commands.includes('--sort-by') ? plain(text).sort() : plain(text))
  const look = async () => inOrder(`${done}${await sh(lines.slice(acting).join('\n'))}`)
  const expected = inOrder(shown)
  if (shown === '') return void (await look())
  const end = async () => (await look()).slice(-expected.length).join('\n')
  await untilSame('it is as the page shows', expected.join('\n'), end)
}
