// ConversionReview: objects between the versions of their kind. Objects come back in the order in which they were sent; one
// that cannot be converted fails the whole request, for the API server would take a list with a gap for the truth. A long
// list is converted in slices: health and other webhooks are answered in between.

import { setImmediate } from 'node:timers/promises'
import { isRecord } from '../api/shape.ts'
import { isMalformed, type Malformed, quoteText } from '../ip/malformed.ts'
import { parseBody, printBody } from '../kube/body.ts'
import { type Fields, fieldOf } from './spec.ts'

/** How objects of some kinds get from one version to another. */
export interface Conversion {
  readonly group: string
  readonly kinds: readonly string[]
  /** Undefined where the one version does not lead to the other; never asked for the version that the object has. */
  convert(object: Fields, wantedAPIVersion: string): object | Malformed | undefined
}

/** One for all: a ConversionReview says itself what it is about. */
export const conversionPath = '/convert'

export interface ConvertOptions {
  readonly conversions: readonly Conversion[]
  readonly onError: (error: unknown) => void
}

/** How long objects are converted before other work of the process gets its turn. */
const sliceMs = 10

export async function answerConversionReview(body: string, { conversions, onError }: ConvertOptions): Promise<string> {
  const request = requestIn(body)
  const uid = fieldOf(request, 'uid')
  // Each object was printed in its slice: together they may be too long to be printed in one turn.
  const print = (converted: readonly string[] | Malformed): string => {
    const [objects, result] = isMalformed(converted)
      ? ['', { status: 'Failure', message: converted.malformed }]
      : [converted.join(','), { status: 'Success' }]
    const shown = printBody(typeof uid === 'string' ? uid : '')
    const response = `{"uid":${shown},"result":${printBody(result)},"convertedObjects":[${objects}]}`
    return `{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","response":${response}}`
  }
  try {
    return print(await convertAll(request, conversions))
  } catch (error) {
    onError(error)
    return print({ malformed: 'the conversion failed; the fault is ours and was written down' })
  }
}

/** Each object as JSON. */
async function convertAll(request: Fields, conversions: readonly Conversion[]): Promise<readonly string[] | Malformed> {
  const [wanted, objects] = [fieldOf(request, 'desiredAPIVersion'), fieldOf(request, 'objects')]
  if (typeof wanted !== 'string' || !Array.isArray(objects)) {
    return { malformed: 'the body is no ConversionReview with desiredAPIVersion and objects' }
  }
  const converted: string[] = []
  let sliceBegan = performance.now()
  for (const object of objects) {
    const one = convert(object, wanted, conversions)
    if (isMalformed(one)) return one
    converted.push(printBody(one))
    if (performance.now() - sliceBegan < sliceMs) continue
    await setImmediate()
    sliceBegan = performance.now()
  }
  return converted
}

function convert(object: unknown, wanted: string, conversions: readonly Conversion[]): object | Malformed {
  if (!isRecord(object)) return { malformed: 'what is to be converted is not an object' }
  if (object.apiVersion === wanted) return object
  const [kind, apiVersion] = [textOf(object.kind), textOf(object.apiVersion)]
  const conversion = conversions.find(({ group, kinds }) => kinds.includes(kind) && apiVersion.startsWith(`${group}/`))
  return conversion?.convert(object, wanted) ?? cannot(kind, apiVersion, wanted)
}

function cannot(kind: string, from: string, to: string): Malformed {
  return { malformed: `${quoteText(kind)} is not converted from ${quoteText(from)} to ${quoteText(to)}` }
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

function requestIn(body: string): Fields {
  try {
    const review = parseBody(body)
    const request = isRecord(review) ? fieldOf(review, 'request') : undefined
    return isRecord(request) ? request : {}
  } catch {
    return {}
  }
}
