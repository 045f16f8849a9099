// `serviceaccounts/NAME/token`: a signed token for a service account, good for a while.

import { answerTokenRequest, defaultTokenRequest, prepareTokenRequest } from '../../authn/token-request.ts'
import { readObject } from '../../body.ts'
import type { Answer, Call, World } from '../../call.ts'
import { readWriteOptions } from '../../options.ts'
import { admitBody } from './admit-body.ts'
import { bodyKind } from './body-kind.ts'

export async function requestToken(call: Call, world: World): Promise<Answer> {
  const options = readWriteOptions(call.request.query, 'CreateOptions')
  const source = { bytes: call.body, contentType: call.headers.contentType }
  const served = bodyKind(call)
  const given = readObject(served, source, options.fieldValidation, call.warn)
  defaultTokenRequest(given)
  const { body, validate } = await admitBody(call, world, options, { served, given })
  const { namespace, name } = call.request
  const { tokens, find } = world
  const context = { namespace, name, tokens, find, now: world.now(), warn: call.warn }
  const prepared = prepareTokenRequest(body, context)
  await validate(prepared)
  return { type: 'object', code: 201, object: answerTokenRequest(prepared, context) }
}
