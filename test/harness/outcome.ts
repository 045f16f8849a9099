// What became of a request, as a value: `expect(await outcomeOf(client.create(...))).toMatchObject({ reason: 'Conflict' })`.

import { ApiError, type Reason } from '../../src/kube/api-error.ts'

type Outcome<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly refusal: ApiError; readonly reason: Reason }

export async function outcomeOf<T>(attempt: Promise<T>): Promise<Outcome<T>> {
  try {
    return { ok: true, value: await attempt }
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    return { ok: false, refusal: error, reason: error.reason }
  }
}
