// Where the embedded server answers `kubectl` differently from a real kube-apiserver, on purpose. The suite fails when
// one of these becomes equal, so the list stays true; the reference documentation is rendered from it.

export interface Difference {
  readonly scenario: string
  readonly command: string
  readonly reason: string
}

export const differences: readonly Difference[] = []
