// The kinds as they are shipped, read once.

import { readdirSync, readFileSync } from 'node:fs'
import { parseAllDocuments } from 'yaml'
import type { KubeObject } from '../../src/kube/object.ts'

const folders = ['../../config/crd/', '../../config/crd/cluster-api/'].map(path => new URL(path, import.meta.url))

export const definitions: readonly KubeObject[] = folders.flatMap(folder =>
  readdirSync(folder)
    .filter(file => file.endsWith('.yaml'))
    .toSorted()
    .flatMap(file => parseAllDocuments(readFileSync(new URL(file, folder), 'utf8')))
    .map(document => document.toJS() as KubeObject),
)
