// The errors of the patch verbs. Kubernetes does not tell a client why a well-formed patch could not be applied (the
// message below is all it gets), and answers faults inside a strategic merge with a 500 without a reason; clients match
// on both.

import { StatusError } from '../status.ts'

/** The patch is well formed but cannot be applied to this object. The reason stays on our side, as the cause. */
export function notApplicable(why: string): StatusError {
  const message = 'the server rejected our request due to an error in our request'
  return new StatusError(422, 'Invalid', message, {}, { cause: new Error(why) })
}

/** A failure that has no reason of its own: code 500, and the message is all there is. */
export function unexplained(message: string): StatusError {
  const error = new StatusError(500, '', message)
  delete error.status.reason
  return error
}
