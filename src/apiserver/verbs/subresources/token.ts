// `serviceaccounts/NAME/token`: a signed token for a service account, good for a while.

import { answerTokenRequest } from '../../authn/token-request.ts'
import { readObject } from '../../body.ts'
import type { Answer, Call, World } from '../../call.ts'
import { readWriteOptions } from '../../options.ts'
import { bodyKind } from './body-kind.ts'

export async function requestToken(call: Call, world: World): Promise<Answer> {
  const options = readWriteOptions(call.request.query, 'CreateOptions')
  const source = { bytes: call.body, contentType: call.headers.contentType }
  const request = readObject(bodyKind(call), source, options.fieldValidation, call.warn)
  const { namespace, name } = call.request
  const { tokens, find } = world
  return {
    type: 'object',
    code: 201,
    object: answerTokenRequest(request, { namespace, name, tokens, find, now: world.now(), warn: call.warn }),
  }
}
