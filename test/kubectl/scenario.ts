// What a user does, as data: files in a directory, and command lines typed there one after the other. Each scenario
// has a namespace of its own, named after it, as the default of its kubeconfig.

export interface Scenario {
  /** Names the namespace and the file of recorded answers. */
  readonly name: string
  readonly files?: Readonly<Record<string, string>>
  /** Lines for `sh`, run in order; what one leaves behind the next one finds. */
  readonly commands: readonly string[]
  /** What is true before the first command, without being compared. */
  readonly before?: readonly string[]
}
