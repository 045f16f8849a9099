// What the status of a namespace says while it is being deleted, in the words of Kubernetes' own namespace controller:
// clients wait for these types and print these messages.

import type { GroupResource, KubeObject } from '../object.ts'

export interface Condition {
  readonly type: string
  readonly status: string
  readonly reason: string
  readonly message: string
  readonly lastTransitionTime?: string
}

/** What is left of each resource, how many objects each finalizer holds, and why deletes failed, one per resource. */
export interface Remaining {
  readonly counts: Map<string, number>
  readonly finalizers: Map<string, number>
  readonly failures: string[]
}

export function countRemaining(
  { counts, finalizers }: Remaining,
  { plural, group }: GroupResource,
  objects: Iterable<KubeObject>,
): void {
  // The dot stays where there is no group: that is how Kubernetes prints it.
  const resource = `${plural}.${group}`
  for (const { metadata } of objects) {
    counts.set(resource, (counts.get(resource) ?? 0) + 1)
    for (const finalizer of metadata.finalizers ?? []) finalizers.set(finalizer, (finalizers.get(finalizer) ?? 0) + 1)
  }
}

export function describeFailures(failures: readonly string[]): string {
  return `Failed to delete all resource types, ${failures.length} remaining: ${failures.toSorted().join(', ')}`
}

export function describeContent({ counts, finalizers, failures }: Remaining): Condition[] {
  return [
    fine('NamespaceDeletionDiscoveryFailure', 'ResourcesDiscovered', 'All resources successfully discovered'),
    fine(
      'NamespaceDeletionGroupVersionParsingFailure',
      'ParsedGroupVersions',
      'All legacy kube types successfully parsed',
    ),
    failures.length === 0
      ? fine(
          'NamespaceDeletionContentFailure',
          'ContentDeleted',
          'All content successfully deleted, may be waiting on finalization',
        )
      : wrong('NamespaceDeletionContentFailure', 'ContentDeletionFailed', describeFailures(failures)),
    counts.size === 0
      ? fine('NamespaceContentRemaining', 'ContentRemoved', 'All content successfully removed')
      : wrong(
          'NamespaceContentRemaining',
          'SomeResourcesRemain',
          `Some resources are remaining: ${listed(counts, 'has')}`,
        ),
    finalizers.size === 0
      ? fine('NamespaceFinalizersRemaining', 'ContentHasNoFinalizers', 'All content-preserving finalizers finished')
      : wrong(
          'NamespaceFinalizersRemaining',
          'SomeFinalizersRemain',
          `Some content in the namespace has finalizers remaining: ${listed(finalizers, 'in')}`,
        ),
  ]
}

const fine = (type: string, reason: string, message: string): Condition => ({ type, status: 'False', reason, message })
const wrong = (type: string, reason: string, message: string): Condition => ({ type, status: 'True', reason, message })

function listed(entries: ReadonlyMap<string, number>, verb: string): string {
  const lines = [...entries].map(([name, count]) => `${name} ${verb} ${count} resource instances`)
  return lines.sort().join(', ')
}
