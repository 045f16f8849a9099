// ConversionReview: objects between the versions of their kind. Objects come back in the order in which they were sent; one
// that cannot be converted fails the whole request, for the API server would take a list with a gap for the truth.

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

export function answerConversionReview(body: string, { conversions, onError }: ConvertOptions): string {
  const request = requestIn(body)
  const uid = fieldOf(request, 'uid')
  const print = (converted: readonly unknown[] | Malformed): string =>
    printBody({
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'ConversionReview',
      response: { uid: typeof uid === 'string' ? uid : '', ...toResult(converted) },
    })
  try {
    return print(convertAll(request, conversions))
  } catch (error) {
    onError(error)
    return print({ malformed: 'the conversion failed; the fault is ours and was written down' })
  }
}

function toResult(converted: readonly unknown[] | Malformed) {
  if (!isMalformed(converted)) return { convertedObjects: converted, result: { status: 'Success' } }
  return { convertedObjects: [], result: { status: 'Failure', message: converted.malformed } }
}

function convertAll(request: Fields, conversions: readonly Conversion[]): readonly unknown[] | Malformed {
  const [wanted, objects] = [fieldOf(request, 'desiredAPIVersion'), fieldOf(request, 'objects')]
  if (typeof wanted !== 'string' || !Array.isArray(objects)) {
    return { malformed: 'the body is no ConversionReview with desiredAPIVersion and objects' }
  }
  const converted: unknown[] = []
  for (const object of objects) {
    const one = convert(object, wanted, conversions)
    if (isMalformed(one)) return one
    converted.push(one)
  }
  return converted
}

function convert(object: unknown, wanted: string, conversions: readonly Conversion[]): object | Malformed {
  if (!isRecord(object)) return { malformed: 'what is to be converted is not an object' }
  if (object.apiVersion === wanted) return object
  const { kind, apiVersion } = object
  const conversion = conversions.find(
    ({ group, kinds }) => kinds.includes(String(kind)) && String(apiVersion).startsWith(`${group}/`),
  )
  return conversion?.convert(object, wanted) ?? cannot(kind, apiVersion, wanted)
}

function cannot(kind: unknown, from: unknown, to: string): Malformed {
  return {
    malformed: `${quoteText(String(kind))} is not converted from ${quoteText(String(from))} to ${quoteText(to)}`,
  }
}

function requestIn(body: string): Fields {
  try {
    const review = parseBody(body)
    const request = isRecord(review) ? fieldOf(review, 'request') : undefined
    return isRecord(request) ? request : {}
  } catch {
    return {}
  }
}
