// In-cluster pools between their versions: what goes there and back is what it was, and a review is answered whatever it holds.

import { isDeepStrictEqual } from 'node:util'
import { answerConversionReview } from '../../src/admission/conversion.ts'
import { parseInClusterPool } from '../../src/api/in-cluster-pool.ts'
import { conversionDataAnnotation } from '../../src/api/names.ts'
import { poolConversions } from '../../src/controllers/office/webhooks/conversion.ts'
import { isMalformed } from '../../src/ip/malformed.ts'
import { type JSONObject, parseJSON } from '../../src/json.ts'
import { type FuzzTarget, must, mustBeReadable } from './target.ts'

const group = 'ipam.cluster.x-k8s.io'

async function convert(objects: readonly unknown[], version: string): Promise<readonly JSONObject[] | string> {
  const errors: unknown[] = []
  const request = { uid: 'u', desiredAPIVersion: `${group}/${version}`, objects }
  const answer = await answerConversionReview(print({ request }), {
    conversions: poolConversions,
    onError: error => errors.push(error),
  })
  must(errors.length === 0, `no conversion fails: ${errors.map(String).join()}`)
  const { response } = parseJSON(answer).value as unknown as { response: Response }
  must(response.uid === 'u', 'the uid comes back')
  if (response.result.status !== 'Success') {
    must(response.convertedObjects.length === 0, 'a list with a gap is none')
    mustBeReadable(response.result.message ?? '')
    return response.result.message ?? ''
  }
  must(response.convertedObjects.length === objects.length, 'each object comes back')
  return response.convertedObjects
}

interface Response {
  readonly uid: string
  readonly result: { readonly status: string; readonly message?: string }
  readonly convertedObjects: readonly JSONObject[]
}

const print = (value: unknown): string =>
  JSON.stringify(value, (_, item) => (typeof item === 'bigint' ? Number(item) : item))

function specOf(object: JSONObject | undefined): unknown {
  return object?.spec
}

const old = (spec: object, annotations: object = {}) =>
  JSON.stringify([
    { apiVersion: `${group}/v1alpha1`, kind: 'InClusterIPPool', metadata: { name: 'a', annotations }, spec },
  ])
const now = (spec: object, annotations: object = {}) => old(spec, annotations).replace('v1alpha1', 'v1alpha2')
const kept = (value: unknown) => ({ [conversionDataAnnotation]: JSON.stringify(value) })

export const conversions: FuzzTarget = {
  name: 'conversions',
  corpus: [
    old({ subnet: '10.0.0.0/24', start: '10.0.0.10', gateway: '10.0.0.1' }),
    old({ subnet: 'fd00::/127', prefix: 64 }),
    old({ addresses: ['10.0.0.1'], prefix: 24 }, kept({ v1alpha2: { excludedAddresses: ['10.0.0.1'] } })),
    now({ addresses: ['10.0.0.1-10.0.0.9'], prefix: 24, allocateReservedIPAddresses: true }),
    now({ addresses: ['10.0.0.1'], prefix: 24 }, kept({ spec: { addresses: ['10.0.0.1'], prefix: 24 } })),
    now({ addresses: [], prefix: 0 }, { [conversionDataAnnotation]: '{"spec":[]' }),
    '[{"kind":{"toString":1},"apiVersion":{"toString":1}}]',
    '[null,1,"a",[]]',
  ],
  dictionary: ['"subnet":', '"10.0.0.0/31"', '"start":""', '"spec":', 'null', '{}', '"v1alpha2":', '\u202e', '128'],
  async run(input) {
    let objects: unknown
    try {
      objects = JSON.parse(input.toString('utf8'))
    } catch {
      return
    }
    if (!Array.isArray(objects)) return
    for (const [there, back] of [
      ['v1alpha2', 'v1alpha1'],
      ['v1alpha1', 'v1alpha2'],
    ] as const) {
      const isWhole = (object: unknown) => back === 'v1alpha1' || !isMalformed(parseInClusterPool(object))
      const from = objects.filter(object => object?.apiVersion === `${group}/${back}` && isWhole(object))
      const once = await convert(from, there)
      await convert(objects, there)
      if (typeof once === 'string') continue
      const twice = await convert(once, back)
      must(typeof twice !== 'string', `what was converted can be converted back: ${twice}`)
      if (typeof twice === 'string') continue
      const again = await convert(twice, there)
      for (const [i, object] of once.entries()) {
        must(isDeepStrictEqual(specOf(again[i] as JSONObject), specOf(object)), 'there, back and there is there')
        must(object.kind === from[i].kind && object.apiVersion === `${group}/${there}`, 'it is the same kind')
      }
      if (there === 'v1alpha1') continue
      twice.forEach((object, i) => {
        must(isDeepStrictEqual(object.spec, from[i].spec ?? {}), 'what v1alpha1 said comes back word by word')
      })
    }
  },
}
