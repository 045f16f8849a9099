import { describe, expect, it } from 'vitest'
import { describeFault } from '../faults.ts'
import type { KubeObject } from '../object.ts'
import type { Schema, ValidationRule } from '../schema/schema.ts'
import { checkCRD, warnAboutCRD } from './check.ts'
import { applyCRDDefaults, withStoredVersion } from './defaults.ts'

type Fields = Record<string, unknown>

function aDefinition(schema: Schema, spec: Fields = {}, version: Fields = {}): KubeObject {
  const crd: KubeObject = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'things.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { plural: 'things', kind: 'Thing' },
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema }, ...version }],
      ...spec,
    },
  }
  applyCRDDefaults(crd)
  return crd
}

const faultsOf = (crd: KubeObject, old?: KubeObject): string[] => checkCRD(crd, old).map(describeFault)
const withSpec = (spec: Schema): Schema => ({ type: 'object', properties: { spec } })
const object = (properties: Record<string, Schema>, ...rules: ValidationRule[]): Schema => ({
  type: 'object',
  properties,
  ...(rules.length > 0 && { 'x-kubernetes-validations': rules }),
})
const root = 'spec.validation.openAPIV3Schema'
const spec = `${root}.properties[spec]`

describe('defaults', () => {
  it('fill in names and conversion', () => {
    expect(aDefinition(object({})).spec).toMatchObject({
      names: { plural: 'things', singular: 'thing', kind: 'Thing', listKind: 'ThingList' },
      conversion: { strategy: 'None' },
    })
  })

  it('remember every version that was ever stored', () => {
    expect(withStoredVersion(['v1'], { versions: [{ name: 'v2', storage: true }] })).toEqual(['v1', 'v2'])
  })
})

describe('a definition', () => {
  it('that is sound has no faults', () => {
    expect(faultsOf(aDefinition(withSpec(object({ a: { type: 'string' } }))))).toEqual([])
  })

  // Every expectation is what kube-apiserver 1.35.4 answers to the same definition.
  const cases: [name: string, crd: KubeObject, faults: string[]][] = [
    [
      'needs a type for every field',
      aDefinition(withSpec({ properties: { a: {} } })),
      [
        `${spec}.properties[a].type: Required value: must not be empty for specified object fields`,
        `${spec}.type: Required value: must not be empty for specified object fields`,
      ],
    ],
    [
      'needs an object at the root',
      aDefinition({ type: 'string' }),
      [`${root}.type: Invalid value: "string": must be object at the root`],
    ],
    [
      'needs items for arrays',
      aDefinition(withSpec(object({ a: { type: 'array' } }))),
      [`${spec}.properties[a].items: Required value: must be specified`],
    ],
    [
      'says what things are outside of logic',
      aDefinition(
        withSpec({ ...object({ a: { type: 'string' } }), anyOf: [{ type: 'object', properties: { b: {} } }] }),
      ),
      [`${spec}.anyOf[0].type: Forbidden: must be empty to be structural`],
    ],
    [
      'has defaults that fit',
      aDefinition(withSpec(object({ a: { type: 'integer', default: 'x' }, b: { ...object({}), default: { d: 1 } } }))),
      [
        `${spec}.properties[a].default: Invalid value: "string":  in body must be of type integer: "string"`,
        `${spec}.properties[b].default: Invalid value: {"d":1}: must not have unknown fields`,
      ],
    ],
    [
      'leaves metadata alone',
      aDefinition({
        type: 'object',
        properties: { metadata: { type: 'object', properties: { labels: { type: 'object' } } } },
      }),
      [
        `${root}.properties[metadata]: Forbidden: must not specify anything other than name and generateName, but metadata is implicitly specified`,
      ],
    ],
    [
      'names its keys when a list is a map',
      aDefinition(withSpec(object({ l: { type: 'array', 'x-kubernetes-list-type': 'map', items: object({}) } }))),
      [
        `${spec}.properties[l].x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type is map`,
      ],
    ],
    [
      'has a name made of plural and group',
      { ...aDefinition(withSpec(object({}))), metadata: { name: 'other.example.com' } },
      ['metadata.name: Invalid value: "other.example.com": must be spec.names.plural+"."+spec.group'],
    ],
    [
      'has a known scope',
      aDefinition(object({}), { scope: 'Odd' }),
      ['spec.scope: Unsupported value: "Odd": supported values: "Cluster", "Namespaced"'],
    ],
    [
      'has a storage version',
      aDefinition(object({}), {}, { storage: false }),
      [
        'spec.versions: Invalid value: [{"Name":"v1","Served":true,"Storage":false,"Deprecated":false,"DeprecationWarning":null,"Schema":null,"Subresources":null,"AdditionalPrinterColumns":null,"SelectableFields":null}]: must have exactly one version marked as storage version',
        'status.storedVersions: Invalid value: null: must have at least one stored version',
      ],
    ],
    [
      'has scale paths where they belong',
      aDefinition(
        object({}),
        {},
        { subresources: { scale: { specReplicasPath: 'spec.n', statusReplicasPath: '.spec.n' } } },
      ),
      [
        'spec.subresources.scale.specReplicasPath: Invalid value: "spec.n": must be a simple json path starting with .',
        'spec.subresources.scale.statusReplicasPath: Invalid value: ".spec.n": should be a json path under .status',
      ],
    ],
    [
      'has columns of known types',
      aDefinition(object({}), {}, { additionalPrinterColumns: [{ name: 'a', type: 'odd', jsonPath: '.a' }] }),
      [
        'spec.additionalPrinterColumns[0].type: Invalid value: "odd": must be one of boolean,date,integer,number,string',
      ],
    ],
    [
      'selects by fields it has',
      aDefinition(
        withSpec(object({ o: object({}) })),
        {},
        { selectableFields: [{ jsonPath: '.spec.o' }, { jsonPath: '.spec.z' }] },
      ),
      [
        'spec.selectableFields[0].jsonPath: Invalid value: ".spec.o": must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.',
        'spec.selectableFields[1].jsonPath: Invalid value: ".spec.z": is an invalid path: does not refer to a valid field',
      ],
    ],
    [
      'says how its webhook converts',
      aDefinition(object({}), { conversion: { strategy: 'Webhook' } }),
      [
        'spec.conversion.webhookClientConfig: Required value: required when strategy is set to Webhook',
        'spec.conversion.conversionReviewVersions: Required value',
      ],
    ],
    [
      'needs approval for the groups of Kubernetes',
      { ...aDefinition(object({}), { group: 'x.k8s.io' }), metadata: { name: 'things.x.k8s.io' } },
      [
        'metadata.annotations[api-approved.kubernetes.io]: Required value: protected groups must have approval annotation "api-approved.kubernetes.io", see https://github.com/kubernetes/enhancements/pull/1111',
      ],
    ],
  ]

  it.each(cases)('%s', (_, crd, faults) => {
    expect(faultsOf(crd)).toEqual(faults)
  })

  it('puts faults at the version when versions differ', () => {
    const version = (name: string, schema: Schema) => ({
      name,
      served: true,
      storage: name === 'v1',
      schema: { openAPIV3Schema: schema },
    })
    const crd = aDefinition(object({}), { versions: [version('v1', object({})), version('v2', withSpec({}))] })
    expect(faultsOf(crd)).toEqual([
      'spec.versions[1].schema.openAPIV3Schema.properties[spec].type: Required value: must not be empty for specified object fields',
    ])
  })

  it('keeps its group and plural, and once established its kind and scope', () => {
    const old = aDefinition(object({}))
    const changed = aDefinition(object({}), { scope: 'Cluster', names: { plural: 'others', kind: 'Other' } })
    expect(faultsOf(changed, old)).toEqual(['spec.names.plural: Invalid value: "others": field is immutable'])
    old.status = { conditions: [{ type: 'Established', status: 'True' }] }
    expect(faultsOf(changed, old)).toEqual([
      'spec.scope: Invalid value: "Cluster": field is immutable',
      'spec.names.kind: Invalid value: "Other": field is immutable',
      'spec.names.plural: Invalid value: "others": field is immutable',
    ])
  })

  it('keeps a version that may still be stored', () => {
    const crd = { ...aDefinition(object({})), status: { storedVersions: ['v0', 'v1'] } }
    expect(faultsOf(crd)[0]).toMatch(/^status.storedVersions\[0\]: Invalid value: "v0": missing from spec.versions;/)
  })

  it('warns of a format that the server does not check', () => {
    expect(warnAboutCRD(aDefinition(withSpec(object({ a: { type: 'string', format: 'poem' } }))))).toEqual([
      'unrecognized format "poem"',
    ])
  })
})

describe('a rule', () => {
  const x: Record<string, Schema> = { x: { type: 'integer' } }
  const refused: [name: string, rule: ValidationRule, place: string, why: string][] = [
    [
      'that names no field',
      { rule: 'self.z == 100' },
      'rule',
      `compilation failed: ERROR: <input>:1:5: undefined field 'z'\n | self.z == 100\n | ....^`,
    ],
    [
      'that asks for no field',
      { rule: 'has(self.z)' },
      'rule',
      `compilation failed: ERROR: <input>:1:4: undefined field 'z'\n | has(self.z)\n | ...^`,
    ],
    ['that cannot be read', { rule: 'self = 42' }, 'rule', 'compilation failed: ERROR: <input>:1:6: Syntax error: '],
    ['that is no yes or no', { rule: 'self.x' }, 'rule', 'cel expression must evaluate to a bool'],
    [
      'that compares apples',
      { rule: "self.x == 'a'" },
      'rule',
      `compilation failed: ERROR: <input>:1:8: found no matching overload for '_==_' applied to '(int, string)'`,
    ],
    [
      'that calls an unknown function',
      { rule: 'bar(self.x)' },
      'rule',
      `compilation failed: ERROR: <input>:1:4: undeclared reference to 'bar' (in container '')`,
    ],
    [
      'whose message is no text',
      { rule: 'true', messageExpression: 'self.x' },
      'messageExpression',
      'messageExpression must evaluate to a string',
    ],
  ]

  it.each(refused)('%s is refused', (_, rule, place, why) => {
    const [fault, ...others] = faultsOf(aDefinition(withSpec(object(x, rule))))
    expect(others).toEqual([])
    expect(fault).toContain(`${spec}.x-kubernetes-validations[0].${place}: Invalid value: {"Rule":`)
    expect(fault).toContain(why)
  })

  it('that could run forever is refused', () => {
    const inner: Schema = {
      type: 'array',
      items: { type: 'string' },
      'x-kubernetes-validations': [{ rule: "self.all(s, s == 'a')" }],
    }
    const faults = faultsOf(aDefinition(withSpec(object({ x: { type: 'array', items: inner } }))))
    expect(faults[0]).toContain('Forbidden: estimated rule cost exceeds budget by factor of more than 100x')
  })

  it('that loops over bounded lists is affordable', () => {
    const list: Schema = { type: 'array', maxItems: 725, items: { type: 'integer' } }
    const rule = { rule: 'self.l.all(x, self.l.all(y, y == x))' }
    expect(faultsOf(aDefinition(withSpec(object({ l: list }, rule))))).toEqual([])
  })

  it('cannot compare with an old item that has no name', () => {
    const item: Schema = { type: 'integer', 'x-kubernetes-validations': [{ rule: 'self > oldSelf' }] }
    expect(faultsOf(aDefinition(withSpec(object({ l: { type: 'array', items: item } }))))).toEqual([
      `${spec}.properties[l].items.x-kubernetes-validations[0].rule: Invalid value: "self > oldSelf": oldSelf cannot be used on the uncorrelatable portion of the schema within ${spec}.properties[l]`,
    ])
  })
})
