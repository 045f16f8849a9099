// In-cluster pools between v1alpha1 and v1alpha2.

import type { Conversion } from '../../../admission/conversion.ts'
import {
  convertToV1alpha1,
  convertToV1alpha2,
  globalInClusterPoolKind,
  inClusterPoolKind,
} from '../../../api/in-cluster-pool.ts'
import { ipamGroup } from '../../../api/names.ts'

const [v1alpha1, v1alpha2] = [`${ipamGroup}/v1alpha1`, `${ipamGroup}/v1alpha2`]

export const poolConversions: readonly Conversion[] = [
  {
    group: ipamGroup,
    kinds: [inClusterPoolKind.kind, globalInClusterPoolKind.kind],
    convert(object, wanted) {
      if (wanted === v1alpha2 && object.apiVersion === v1alpha1) return convertToV1alpha2(object)
      if (wanted === v1alpha1 && object.apiVersion === v1alpha2) return convertToV1alpha1(object)
      return undefined
    },
  },
]
