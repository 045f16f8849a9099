// Long answers are compressed for clients that accept it. Short ones are not worth the work.

import { promisify } from 'node:util'
import { constants, gzip } from 'node:zlib'
import { header, type WireRequest, type WireResponse } from './wire.ts'

const compress = promisify(gzip)

/** Below this, compressing costs more than sending, as kube-apiserver found too. */
const bytesMin = 128 * 1024

export async function compressed(wire: WireRequest, response: WireResponse): Promise<WireResponse> {
  const { body } = response
  if (!Buffer.isBuffer(body) || body.length < bytesMin || response.headers['content-encoding']) return response
  if (!/\bgzip\b/.test(header(wire, 'accept-encoding') ?? '')) return response
  const headers = { ...response.headers, 'content-encoding': 'gzip', vary: 'Accept-Encoding' }
  return { ...response, headers, body: await compress(body, { level: constants.Z_BEST_SPEED }) }
}
