// KubeVirt's virt-controller and virt-api, and the program of ours that prints what KubeVirt's operator would install for
// them, in each version that the lane knows. They need no libvirt, since there is no node.

import { builtBy, digestOf, moduleAt } from './binaries.ts'

const kubevirtVersion = 'v1.7.0'
const olderKubevirtVersion = 'v1.6.0'
export const kubevirtVersions = [kubevirtVersion, olderKubevirtVersion] as const
export type KubeVirtVersion = (typeof kubevirtVersions)[number]
export type KubeVirtProgram = 'virt-controller' | 'virt-api' | 'manifests'

const module = moduleAt('kubevirt')
const versionPackage = 'kubevirt.io/client-go/version'

const programs = {
  'virt-controller': { target: 'kubevirt.io/kubevirt/cmd/virt-controller', minutes: 4 },
  'virt-api': { target: 'kubevirt.io/kubevirt/cmd/virt-api', minutes: 1 },
  manifests: { target: '.', minutes: 1 },
}

/** The path of a ready-to-run program; builds it first where it is missing. */
export function kubevirtBinary(
  program: KubeVirtProgram,
  version: KubeVirtVersion,
  say?: (line: string) => void,
): Promise<string> {
  const recipe = {
    ...programs[program],
    module,
    into: `kubevirt-${version}`,
    // The first version is that of go.mod; Go reads another one's where it is told to, with the sums beside it.
    go: [
      'build',
      ...(version === kubevirtVersion ? [] : [`-modfile=${version}.mod`]),
      '-trimpath',
      '-ldflags',
      `-s -w -X ${versionPackage}.gitVersion=${version}`,
    ],
    env: { CGO_ENABLED: '0' },
  }
  // Where the code is ours, it changes while the versions stay.
  const name = program === 'manifests' ? `manifests-${digestOf(module, 'main.go')}` : program
  return builtBy(recipe, name, say)
}
