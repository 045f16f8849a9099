import { describe, expect, test } from 'vitest'
import { toPolicies } from '../../scripts/config/policies.ts'
import { aWorld } from '../../test/harness/world.ts'
import { driftOf } from './drift.ts'
import { type Policy, standInFor } from './policy.ts'

const policy: Policy = {
  name: 'boat-author',
  kind: { group: 'sea.example', version: 'v1', kind: 'Boat', plural: 'boats', isNamespaced: true },
  operations: ['CREATE'],
  matchConditions: [{ name: 'is-large', expression: 'object.spec.length > 10' }],
  allowedIf: "authorizer.group('sea.example').resource('docks').check('create').allowed()",
  message: 'large boats are made by users who may make docks',
}
const webhook = standInFor(policy)
const [made, binding] = toPolicies([webhook], { namePrefix: 'mooring-', labels: {} })

type Change = (spec: Record<string, unknown>) => object

function wrongWith(changePolicy: Change = spec => spec, changeBinding: Change = spec => spec): string | undefined {
  const policies = [{ ...made, spec: changePolicy({ ...made?.spec }) }]
  const bindings = [{ ...binding, spec: changeBinding({ ...binding?.spec }) }]
  return driftOf([webhook], { validating: [], mutating: [], policies, bindings }).get(webhook.name)
}

describe('a policy', () => {
  test('as an API server stores it is as it should be, whatever its name begins with', async () => {
    const { admin } = await aWorld()
    const stored = []
    for (const object of toPolicies([webhook], { namePrefix: 'a-release-', labels: {} })) {
      const plural = object.kind === made?.kind ? 'validatingadmissionpolicies' : 'validatingadmissionpolicybindings'
      const path = `/apis/admissionregistration.k8s.io/v1/${plural}`
      expect((await admin.create(path, object)).code).toBe(201)
      stored.push((await admin.get(`${path}/${object.metadata.name}`)).body)
    }
    const registered = { validating: [], mutating: [], policies: stored.slice(0, 1), bindings: stored.slice(1) }
    expect([...driftOf([webhook], registered)]).toEqual([[webhook.name, undefined]])
  })

  test('that is gone is told', () => {
    const nothing = { validating: [], mutating: [], policies: [], bindings: [] }
    expect(driftOf([webhook], nothing).get(webhook.name)).toMatch(/which is not there$/)
  })

  test.each<[string, Change]>([
    ['failurePolicy', spec => ({ ...spec, failurePolicy: 'Ignore' })],
    ['matchConditions', spec => ({ ...spec, matchConditions: [{ name: 'never', expression: 'false' }] })],
    ['validations', spec => ({ ...spec, validations: [{ expression: 'true' }] })],
    [
      'matchConstraints',
      spec => ({ ...spec, matchConstraints: { ...(spec.matchConstraints as object), objectSelector: { a: 'b' } } }),
    ],
  ])('with another %s is told by its field', (field, change) => {
    expect(wrongWith()).toBeUndefined()
    expect(wrongWith(change)).toBe(`has a policy in its place, with another ${field}`)
  })

  test.each<[string, Change]>([
    ['only warns', spec => ({ ...spec, validationActions: ['Warn'] })],
    ['is for some namespaces', spec => ({ ...spec, matchResources: { namespaceSelector: {} } })],
    ['is of another policy', spec => ({ ...spec, policyName: 'another' })],
  ])('whose binding %s is told', (_, change) => {
    expect(wrongWith(undefined, change)).toMatch(/which no binding puts into force everywhere$/)
  })
})
