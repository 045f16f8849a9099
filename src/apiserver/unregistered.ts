// Kubernetes' message for a kind that its decoder does not know. It names a place in Kubernetes' own source, the same
// for every decoder; clients have been seen to match this text.

import { quote } from './faults.ts'

export function notRegistered(apiVersion: string, kind: string): string {
  return `no kind ${quote(kind)} is registered for version ${quote(apiVersion)} in scheme "pkg/runtime/scheme.go:111"`
}
