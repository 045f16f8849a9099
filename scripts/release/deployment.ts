// The one Deployment of an installation, and its one container.

import type { Manifest } from '../config/manifests.ts'

export interface Deployment extends Manifest {
  readonly spec: {
    readonly template: { readonly spec: { readonly containers: readonly Container[] } }
  }
}

export interface Container {
  readonly name: string
  readonly image: string
  readonly args: readonly string[]
}

export function isDeployment(object: Manifest): object is Deployment {
  return object.kind === 'Deployment'
}

export function changeManager(deployment: Deployment, change: (container: Container) => Container): Deployment {
  const { spec } = deployment
  const { template } = spec
  const containers = template.spec.containers.map(change)
  return { ...deployment, spec: { ...spec, template: { ...template, spec: { ...template.spec, containers } } } }
}
