// KubeVirt's kinds for the playground, on a server that has none of them. Those that the user installed stay as they are.

import { standInsOf } from './definitions.ts'
import { type KeepOptions, type KeptDefinitions, keepDefinitions } from './kept-definitions.ts'

type Parts = Pick<KeepOptions, 'client' | 'clock' | 'random' | 'log'>

export const keepKubeVirtDefinitions = (parts: Parts): Promise<KeptDefinitions> =>
  keepDefinitions({
    ...parts,
    wanted: [],
    standIns: standInsOf([{ standIns: ['crd/kubevirt/'] }]),
    fieldManager: 'mooring-playground',
  })
