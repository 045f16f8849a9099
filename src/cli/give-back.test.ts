import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

test('a process that gave its memory back has less, goes on, and ends when it is told to', async () => {
  const program = `
    import { giveBackMemory } from ${JSON.stringify(join(import.meta.dirname, 'give-back.ts'))}
    let garbage = Array.from({ length: 200_000 }, (_, i) => ({ i }))
    const before = process.memoryUsage().heapUsed
    garbage = undefined
    process.once('SIGTERM', () => process.exit(0))
    const running = setInterval(() => {}, 1_000)
    giveBackMemory()
    setTimeout(() => {
      console.log(process.memoryUsage().heapUsed < before)
      process.kill(process.pid, 'SIGTERM')
    }, 100)
  `
  const args = ['--import', 'tsx', '--input-type=module', '--eval', program]
  const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 30_000, killSignal: 'SIGKILL' })
  expect(stdout).toBe('true\n')
})
