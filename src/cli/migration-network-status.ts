// How far each node is on its way to the migration network: whether the cluster network is selected for it, configured and ready there, what its
// pod of virt-handler has, and the address.

import type { Handler } from '../controllers/migration/rollout.ts'
import { managementNetwork } from '../migration/names.ts'
import { isWitness, nodesToServe } from '../migration/nodes.ts'
import type { Wanted } from '../migration/wanted.ts'
import type { SeenCluster } from './migration-network-cluster.ts'

/** Undefined: not asked, because no cluster network of Harvester has to be there. */
export interface NodeRow {
  readonly node: string
  readonly selected: boolean | undefined
  readonly configured: boolean | undefined
  readonly ready: boolean | undefined
  /** In words. */
  readonly handler: string
  readonly addresses: readonly string[]
}

export function rowsOf(cluster: SeenCluster): NodeRow[] {
  const { facts, order, handlers, kubeVirt } = cluster
  const wanted = order?.asks.kind === 'network' ? order.asks.network : undefined
  const served = nodesToServe(facts.nodes, wanted ?? { nodeSelector: {} })
  const others = facts.nodes.filter(node => !served.includes(node))
  return [
    ...served.map(({ name }) => {
      const own = handlers.filter(({ node }) => node === name)
      return {
        node: name,
        ...coverageOf(name, wanted, cluster),
        handler: handlerText(own, kubeVirt?.network ?? ''),
        addresses: own.flatMap(({ addresses }) => addresses ?? []),
      }
    }),
    ...others.map(node => ({
      node: node.name,
      selected: false,
      configured: undefined,
      ready: undefined,
      handler: isWitness(node) ? 'none: it is a witness' : 'none: it is not selected',
      addresses: [],
    })),
  ]
}

type Coverage = Pick<NodeRow, 'selected' | 'configured' | 'ready'>

function coverageOf(node: string, wanted: Wanted | undefined, { facts }: SeenCluster): Coverage {
  const name = wanted?.wire.clusterNetwork
  if (wanted === undefined) return { selected: undefined, configured: undefined, ready: undefined }
  if (name === undefined || name === managementNetwork)
    return { selected: true, configured: undefined, ready: undefined }
  const configs = facts.vlanConfigs.filter(({ clusterNetwork }) => clusterNetwork === name)
  const status = facts.vlanStatuses.find(one => one.clusterNetwork === name && one.node === node)
  return {
    selected: configs.some(({ matchedNodes }) => matchedNodes.includes(node)),
    configured: status !== undefined,
    ready: status?.ready === 'True',
  }
}

function handlerText(handlers: readonly Handler[], network: string): string {
  if (handlers.length === 0) return 'missing'
  if (handlers.some(one => one.network !== network)) return 'restarts'
  const behind = handlers.find(({ isReady }) => !isReady)
  if (behind === undefined) return 'ready'
  return behind.waitsFor === '' ? 'not ready' : `not ready: ${behind.waitsFor}`
}
