// What an administrator of Harvester and the operator of KubeVirt do in a perturbed world, through the API itself. The operator acts by
// itself: whenever the KubeVirt object names another network it replaces the pods of virt-handler, one by one, and says when it is done.

import type { People } from '../scenarios/scenario.ts'
import { fleetHome, networkStatus } from './fleet-observer.ts'
import type { Ways } from './machine-people.ts'
import type { Stored } from './observer.ts'
import type { PerturbedWorld } from './world.ts'

type FleetPeople = Pick<
  People,
  'makeFleet' | 'setMigrationNetwork' | 'spoilMigrationNetwork' | 'addNode' | 'untilUnaddressed' | 'untilConfigured'
>

const kubeVirtPath = `/apis/kubevirt.io/v1/namespaces/${fleetHome}/kubevirts/kubevirt`
const settingPath = '/apis/harvesterhci.io/v1beta1/settings'
const podsPath = `/api/v1/namespaces/${fleetHome}/pods`
const setting = 'vm-migration-network'
/** How long a pod of virt-handler takes to stop. */
const restartMs = 2_000

export function fleetPeopleOf(world: PerturbedWorld, { create, send, wait }: Ways): FleetPeople {
  const { fleet, machines, holds } = world.observer
  const { admin } = world.server

  // --- the operator ---

  let isRolling = false
  /** Something changed since it last looked. */
  let isWoken = false
  const roll = async (): Promise<void> => {
    isWoken = true
    if (isRolling) return
    isRolling = true
    while (isWoken) {
      isWoken = false
      while (await rollOne());
    }
    isRolling = false
  }

  /** One thing; answers whether there may be more. */
  async function rollOne(): Promise<boolean> {
    const { network, handlers } = fleet
    const [kubeVirt] = fleet.kubeVirts.values()
    if (kubeVirt === undefined) return false
    for (const node of [...fleet.nodes.keys()].toSorted()) {
      const pod = handlers.find(({ metadata }) => metadata.name === `virt-handler-${node}`)
      if (pod !== undefined && isOn(pod, network)) continue
      // Long enough for what is removed too early to be missed.
      if (pod !== undefined) await new Promise<void>(resolve => world.clock.setTimer(restartMs, resolve))
      if (fleet.network !== network) return true
      if (pod !== undefined) await ask('DELETE', `${podsPath}/${pod.metadata.name}?gracePeriodSeconds=0`)
      const given = network === '' ? [] : statusFor(node, network)
      // It waits for its address: a change of the ledger brings the next look.
      if (given === undefined) return false
      await ask('POST', podsPath, toPod(node, network, given))
      await ask('PATCH', `${podsPath}/virt-handler-${node}/status`, { status: ready })
      return true
    }
    const { generation } = kubeVirt.metadata as { generation?: number }
    const said = kubeVirt.status as { observedGeneration?: number } | undefined
    if (said?.observedGeneration === generation) return false
    const conditions = [{ type: 'Available', status: 'True', reason: 'AllComponentsReady' }]
    await ask('PATCH', `${kubeVirtPath}/status`, { status: { conditions, observedGeneration: generation } })
    return true
  }

  const isOn = (pod: Stored, network: string): boolean => (networkStatus(pod)?.name ?? '') === network

  async function ask(method: string, path: string, body?: unknown): Promise<void> {
    const { code } = await admin.request(method, path, body)
    world.note('operator', `${method} ${path} -> ${code}`)
  }

  const given = (network: string, ips: readonly string[]) => [
    { name: `${fleetHome}/${network}`, interface: 'migration0', ips },
  ]

  function statusFor(node: string, network: string): object[] | undefined {
    const config = JSON.parse(machines.attachments.get(`${fleetHome}/${network}`)?.spec?.config ?? '{}')
    const held = [...holds.values()].filter(
      ({ spec, status }) =>
        spec?.claimRef?.kind === 'Node' &&
        spec.claimRef.name === node &&
        spec.poolRef?.name === network &&
        status?.state === 'held',
    )
    // As whereabouts would: here the number of the node decides.
    if (config.ipam?.type !== 'mooring') return given(network, [`10.1.2.${node.split('-')[1]}`])
    const isWhole = held.length === (config.ipam.ranges?.length ?? 1)
    return isWhole
      ? given(
          network,
          held.map(({ spec }) => spec?.address ?? ''),
        )
      : undefined
  }

  // --- people ---

  async function addNode(name: string): Promise<void> {
    await create('/api/v1/nodes', {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name, labels: { 'kubevirt.io/schedulable': 'true' } },
    })
    await send('PATCH', `/api/v1/nodes/${name}/status`, { status: { conditions: [{ type: 'Ready', status: 'True' }] } })
  }

  return {
    async makeFleet(...names) {
      await create('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: fleetHome } })
      for (const name of names) await addNode(name)
      world.server.onChange(() => void roll())
      const metadata = { name: 'kubevirt', namespace: fleetHome }
      await create(kubeVirtPath.slice(0, kubeVirtPath.lastIndexOf('/')), {
        apiVersion: 'kubevirt.io/v1',
        kind: 'KubeVirt',
        metadata,
        spec: {},
      })
      await create(settingPath, {
        apiVersion: 'harvesterhci.io/v1beta1',
        kind: 'Setting',
        metadata: { name: setting },
        default: '',
        value: '',
      })
      await wait('KubeVirt is ready', () => fleet.handlers.length === names.length)
    },
    addNode,
    async setMigrationNetwork(value) {
      const text =
        value === undefined ? '' : JSON.stringify({ clusterNetwork: 'migration', range: '10.1.2.0/28', ...value })
      await send('PATCH', `${settingPath}/${setting}`, { value: text })
    },
    async spoilMigrationNetwork() {
      await send('PATCH', kubeVirtPath, { spec: { configuration: { migrations: { network: null } } } })
    },
    untilUnaddressed: node =>
      wait(`${node} has no address`, () => fleet.condition?.message?.includes(`${node}: no `) === true),
    untilConfigured: vlan =>
      wait(`migrations go over VLAN ${vlan}`, () => {
        const config = JSON.parse(machines.attachments.get(`${fleetHome}/${fleet.network}`)?.spec?.config ?? '{}')
        const isThere = vlan === undefined ? fleet.network === '' : config.vlan === vlan
        return isThere && fleet.condition?.status === 'True' && fleet.networks.length === (vlan === undefined ? 0 : 1)
      }),
  }
}

const ready = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] }

function toPod(node: string, network: string, status: readonly object[]): object {
  const annotations = {
    ...(network !== '' && { 'k8s.v1.cni.cncf.io/networks': `${network}@migration0` }),
    'k8s.v1.cni.cncf.io/network-status': JSON.stringify(status),
  }
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: `virt-handler-${node}`,
      namespace: fleetHome,
      labels: { 'kubevirt.io': 'virt-handler' },
      annotations,
    },
    spec: { nodeName: node, containers: [{ name: 'virt-handler', image: 'virt-handler' }] },
  }
}
