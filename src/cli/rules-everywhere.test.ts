import { describe, expect, test } from 'vitest'
import type { PolicyRule } from '../apiserver/authz/rule.ts'
import type { SinglePermission } from './permissions.ts'
import { allows } from './rules-everywhere.ts'

const permission: SinglePermission = {
  of: 'office',
  verb: 'patch',
  group: 'mooring.dev',
  resource: 'holds',
  namespace: '',
  without: 'nothing is held',
  isNeeded: true,
}
const rule: PolicyRule = { verbs: ['patch'], apiGroups: ['mooring.dev'], resources: ['holds'] }

describe('a rule that holds everywhere', () => {
  test.each<[string, Partial<PolicyRule>, Partial<SinglePermission>, boolean]>([
    ['names the verb, the group and the resource', {}, {}, true],
    ['names every verb', { verbs: ['*'] }, {}, true],
    ['names every group and resource', { apiGroups: ['*'], resources: ['*'] }, { subresource: 'status' }, true],
    ['names a subresource of everything', { resources: ['*/status'] }, { subresource: 'status' }, true],
    ['names another verb', { verbs: ['get'] }, {}, false],
    ['names another group', { apiGroups: [''] }, {}, false],
    ['names no group', { apiGroups: [] }, {}, false],
    ['names the resource, and its subresource is asked for', {}, { subresource: 'status' }, false],
    ['names a subresource, and the resource is asked for', { resources: ['holds/status'] }, {}, false],
    ['names objects, and all are asked for', { resourceNames: ['one'] }, {}, false],
    ['names the object', { resourceNames: ['one'] }, { name: 'one' }, true],
    ['names another object', { resourceNames: ['one'] }, { name: 'other' }, false],
    ['names no object, and one is asked for', { resourceNames: [] }, { name: 'other' }, true],
  ])('that %s', (_, rules, asked, expected) => {
    expect(allows([{ ...rule, ...rules }], { ...permission, ...asked })).toBe(expected)
  })
})
