import { expect, test } from 'vitest'
import { identityKey, namespaceOfIdentityKey } from './object.ts'

test.each(['', 'lab'])('the key of an object tells its namespace: %j', namespace => {
  const key = identityKey({ apiGroup: 'mooring.dev', kind: 'Pool', namespace, name: 'vms' })
  expect(namespaceOfIdentityKey(key)).toBe(namespace)
})
