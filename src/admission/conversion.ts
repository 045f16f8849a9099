// ConversionReview: pools between v1alpha1 and v1alpha2. Objects come back in the order in which they were sent; one that
// cannot be converted fails the whole review, for the API server would take a list with a gap for the truth.

import {
  convertToV1alpha1,
  convertToV1alpha2,
  globalInClusterPoolKind,
  inClusterPoolKind,
} from '../api/in-cluster-pool.ts'
import { ipamGroup } from '../api/names.ts'
import { isRecord } from '../api/shape.ts'
import { isMalformed, type Malformed, quoteText } from '../ip/malformed.ts'
import { parseBody, printBody } from '../kube/body.ts'
import { type Fields, fieldOf } from './spec.ts'

export function answerConversionReview(body: string, onError: (error: unknown) => void): string {
  const request = requestIn(body)
  const uid = fieldOf(request, 'uid')
  const print = (converted: readonly unknown[] | Malformed): string =>
    printBody({
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'ConversionReview',
      response: { uid: typeof uid === 'string' ? uid : '', ...toResult(converted) },
    })
  try {
    return print(convertAll(request))
  } catch (error) {
    onError(error)
    return print({ malformed: 'the conversion failed; the fault is ours and was written down' })
  }
}

function toResult(converted: readonly unknown[] | Malformed) {
  if (!isMalformed(converted)) return { convertedObjects: converted, result: { status: 'Success' } }
  return { convertedObjects: [], result: { status: 'Failure', message: converted.malformed } }
}

function convertAll(request: Fields): readonly unknown[] | Malformed {
  const [wanted, objects] = [fieldOf(request, 'desiredAPIVersion'), fieldOf(request, 'objects')]
  if (typeof wanted !== 'string' || !Array.isArray(objects)) {
    return { malformed: 'the body is no ConversionReview with desiredAPIVersion and objects' }
  }
  const converted: unknown[] = []
  for (const object of objects) {
    const one = convert(object, wanted)
    if (isMalformed(one)) return one
    converted.push(one)
  }
  return converted
}

function convert(object: unknown, wanted: string): unknown {
  if (!isRecord(object)) return { malformed: 'what is to be converted is not an object' }
  if (object.apiVersion === wanted) return object
  const { kind, apiVersion } = object
  if (kind !== inClusterPoolKind.kind && kind !== globalInClusterPoolKind.kind) return cannot(kind, apiVersion, wanted)
  if (wanted === `${ipamGroup}/v1alpha2` && apiVersion === `${ipamGroup}/v1alpha1`) return convertToV1alpha2(object)
  if (wanted === `${ipamGroup}/v1alpha1` && apiVersion === `${ipamGroup}/v1alpha2`) return convertToV1alpha1(object)
  return cannot(kind, apiVersion, wanted)
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
