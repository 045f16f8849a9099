// What the API server is asked while a call waits. An API server that does not answer is no fault of the caller: it is told to try
// again later, and why.

import { isApiError } from '../kube/api-error.ts'
import { describeError } from '../telemetry/log.ts'
import { CNIError, codes } from './spec.ts'

/** `what`: the rest of "the API server was asked for ...". */
export async function asking<T>(what: string, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask()
  } catch (error) {
    if (!isApiError(error)) throw error
    const why = describeError(error)
    throw new CNIError(codes.tryAgainLater, `the API server did not give ${what}`, why, { cause: error })
  }
}
