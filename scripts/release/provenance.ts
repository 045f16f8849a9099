// From what a release was made: an in-toto statement with SLSA's predicate. It is not signed: it says what happened, and the one
// who publishes the release answers for it, by a signature over this file.

import { createHash } from 'node:crypto'

export interface Made {
  /** In the folder of the release. */
  readonly path: string
  readonly body: Buffer
}

export interface Origin {
  readonly version: string
  /** The commit, and none where the files do not come from git or differ from it. */
  readonly commit: string | undefined
  readonly lock: Buffer
  readonly image: string
}

export const sha256 = (body: Buffer): string => createHash('sha256').update(body).digest('hex')

/** As `sha256sum --check` reads it. */
export function toSums(files: readonly Made[]): string {
  return files.map(({ path, body }) => `${sha256(body)}  ${path}\n`).join('')
}

export function toProvenance(files: readonly Made[], { version, commit, lock, image }: Origin): object {
  return {
    _type: 'https://in-toto.io/Statement/v1',
    subject: files.map(({ path, body }) => ({ name: path, digest: { sha256: sha256(body) } })),
    predicateType: 'https://slsa.dev/provenance/v1',
    predicate: {
      buildDefinition: {
        buildType: 'https://mooring.dev/npm-run-release/v1',
        externalParameters: { version, image },
        internalParameters: { node: process.version },
        resolvedDependencies: [
          ...(commit === undefined ? [] : [{ name: 'source', digest: { gitCommit: commit } }]),
          { name: 'package-lock.json', digest: { sha256: sha256(lock) } },
        ],
      },
      runDetails: { builder: { id: 'https://mooring.dev/npm-run-release' } },
    },
  }
}
