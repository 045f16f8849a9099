// What the API server answered, where only success will do.

import type { Answer, Body } from '../conformance/client.ts'

export function must(answer: Answer): Body {
  if (answer.code < 200 || answer.code > 299) throw new Error(`expected success, got ${answer.code}: ${answer.text}`)
  return answer.body
}
