// What the model of the addresses of nodes must refuse, like variants.ts.

import type { Variant } from './variants.ts'

export const nodeVariants: readonly Variant[] = [
  {
    says: 'of two addresses of one node, each worker has another one stay',
    rule: 'OneOrder',
    configuration: 'nodes-racing',
    promise: 'ToldServed',
  },
  {
    says: 'a node keeps every address that was taken for it',
    rule: 'RestsSurplus',
    configuration: 'nodes-liveness',
    promise: 'EventuallyOne',
  },
  {
    says: 'KubeVirt is told of the network before every node holds an address',
    rule: 'TellsServed',
    configuration: 'nodes-racing',
    promise: 'ToldServed',
  },
  {
    says: 'a pod is given every address that its node holds at that moment',
    rule: 'GivesFirst',
    configuration: 'nodes-racing',
    promise: 'NoTwin',
  },
  {
    says: 'a pod is given an address in the second in which its hold was made (no rule: what the order stands on)',
    rule: 'TakesASecond',
    configuration: 'nodes-racing',
    promise: 'PodHeld',
  },
]
