// A claim to a volume, and a volume, is protected from the start: its finalizer keeps it while it is in use. The
// controller that takes the finalizer off is `controllers/storage-protection.ts`.

import type { AdmissionRequest } from '../call.ts'

/** By resource of the core group. */
export const protectionFinalizers: ReadonlyMap<string, string> = new Map([
  ['persistentvolumeclaims', 'kubernetes.io/pvc-protection'],
  ['persistentvolumes', 'kubernetes.io/pv-protection'],
])

export function protectStorage({ operation, call, object }: AdmissionRequest): void {
  const { resource, request } = call
  if (operation !== 'CREATE' || resource.group !== '' || request.subresource !== '' || object === undefined) return
  const finalizer = protectionFinalizers.get(resource.plural)
  const present = object.metadata.finalizers ?? []
  if (finalizer !== undefined && !present.includes(finalizer)) object.metadata.finalizers = [...present, finalizer]
}
