import { expect, test } from 'vitest'
import { createLog } from '../telemetry/log.ts'
import { renew } from './renewal.ts'

test.each([
  ['that are due are loaded anew', () => true, 1, ''],
  ['that are not due are left', () => false, 0, ''],
  [
    'that cannot be written are said, and end nothing',
    () => {
      throw new Error('ENOSPC: no space left on device')
    },
    0,
    'certificates could not be renewed: it is tried again',
  ],
])('Certificates %s', (_, renewIfNeeded, times, said) => {
  let renewed = 0
  let lines = ''
  const log = createLog({ write: line => (lines += line), now: () => 0 })
  renew({ renewIfNeeded }, log, () => renewed++)
  expect(renewed).toBe(times)
  expect(lines).toContain(said)
  expect(lines === '').toBe(said === '')
})
