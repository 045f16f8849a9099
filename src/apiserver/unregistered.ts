// What Kubernetes says of a kind that the reader of a body does not know. The place it names is in its own source, the
// same for every reader; clients have been seen to match the sentence.

import { quote } from './faults.ts'

export function notRegistered(apiVersion: string, kind: string): string {
  return `no kind ${quote(kind)} is registered for version ${quote(apiVersion)} in scheme "pkg/runtime/scheme.go:111"`
}
