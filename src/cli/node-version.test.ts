import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { whyTooOld } from './node-version.ts'

const { engines } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  engines: { node: string }
}

test.each(['18.12.0', '20.18.3', '19.9.0', '9.0.0'])('Node %s is too old, and says so', version => {
  expect(whyTooOld(version)).toBe(
    `mooring: this is Node ${version}, and Mooring needs ${engines.node.slice(2)} or newer\nInstall a newer Node.`,
  )
})

test.each(['20.19.0', '22.0.0', '100.1.0'])('Node %s will do', version => {
  expect(whyTooOld(version)).toBeUndefined()
})
