// What clusterctl reads: the installation with a few values left to the user as `${NAME:=default}`, and the contract of
// Cluster API that each series of releases keeps. Variables stand in flags only: clusterctl also reads the objects as they
// are, to describe them, and a number that is a word until then is refused.

import { deskNames } from '../../src/cli/desks.ts'
import { type Manifest, toYAML } from '../config/manifests.ts'
import { changeManager, isDeployment } from './deployment.ts'

/** What a user of clusterctl may choose. Defaults are the ones of the command line. */
export const variables = [
  { flag: '--desks', name: 'MOORING_DESKS', value: deskNames.join(',') },
  { flag: '--log-level', name: 'MOORING_LOG_LEVEL', value: 'info' },
  // The names that Cluster API's own providers have for the same.
  { flag: '--diagnostics-address', name: 'CAPI_DIAGNOSTICS_ADDRESS', value: ':8443' },
  { flag: '--insecure-diagnostics', name: 'CAPI_INSECURE_DIAGNOSTICS', value: 'false' },
] as const

/** Every series that was released, and the contract it keeps. */
const releaseSeries = [{ major: 0, minor: 1, contract: 'v1beta2' }]

export function toComponents(objects: readonly Manifest[]): string {
  const [accident] = toYAML(objects).match(/\$[{$]/) ?? []
  if (accident) throw new Error(`an object contains ${accident}, which clusterctl would substitute`)
  return toYAML(objects.map(withVariables))
}

export function toMetadata(version: string): string {
  const [major, minor] = version.slice(1).split('.').map(Number)
  if (!releaseSeries.some(series => series.major === major && series.minor === minor)) {
    throw new Error(`version ${version} belongs to no release series`)
  }
  return toYAML([{ apiVersion: 'clusterctl.cluster.x-k8s.io/v1alpha3', kind: 'Metadata', releaseSeries }])
}

function withVariables(object: Manifest): Manifest {
  if (!isDeployment(object)) return object
  const given = variables.map(({ flag, name, value }) => `${flag}=${variable(name, value)}`)
  return changeManager(object, container => ({ ...container, args: [...container.args, ...given] }))
}

function variable(name: string, value: string): string {
  return `\${${name}:=${value}}`
}
