// What KubeVirt, a node and their users do with virtual machines in a perturbed world, through the API itself.

import { createHash } from 'node:crypto'
import type { IPPoolWish, MachineWish, People } from '../scenarios/scenario.ts'
import { addressesOf, allocatedOf, createdOf, macAskedBy, macsToldTo, toldTo } from './machine-observer.ts'
import type { PerturbedWorld } from './world.ts'

type MachinePeople = Pick<
  People,
  | 'makeAttachment'
  | 'makeDefinedNetwork'
  | 'deleteDefinedNetwork'
  | 'spoilAttachment'
  | 'untilRendered'
  | 'untilNotRendered'
  | 'untilNoDefinedNetwork'
  | 'makeMachine'
  | 'startInstance'
  | 'orphanInstance'
  | 'endInstance'
  | 'makePod'
  | 'endPod'
  | 'targetIsReady'
  | 'replug'
  | 'changeTemplate'
  | 'deleteMachine'
  | 'letMachineGo'
  | 'deleteClaim'
  | 'editClaim'
  | 'makeIPPool'
  | 'changeIPPool'
  | 'makeClaimBeforehand'
  | 'writeIPs'
  | 'untilAddressed'
  | 'whoIsAddressed'
  | 'untilNoAddress'
  | 'untilOwnerPod'
  | 'untilNoClaim'
  | 'untilTold'
>

export interface Ways {
  create(path: string, body: unknown): Promise<void>
  send(method: string, path: string, body?: unknown): Promise<number>
  wait(what: string, isTrue: () => boolean): Promise<void>
}

const kubevirt = '/apis/kubevirt.io/v1/namespaces/default'
const vmPath = (name: string) => `${kubevirt}/virtualmachines/${name}`
const vmiPath = (name: string) => `${kubevirt}/virtualmachineinstances/${name}`
const podPath = (name: string) => `/api/v1/namespaces/default/pods/${name}`
const claimPath = (name: string) => `/apis/k8s.cni.cncf.io/v1alpha1/namespaces/default/ipamclaims/${name}`
const ipPoolPath = '/apis/ippool.k8s.cni.cncf.io/v1alpha/ippools'
const definedPath = '/apis/k8s.ovn.org/v1/clusteruserdefinednetworks'
const attachmentPath = (name: string) =>
  `/apis/k8s.cni.cncf.io/v1/namespaces/default/network-attachment-definitions/${name}`
const guard = 'kubevirt.io/virtualMachineControllerFinalize'

export function machinePeopleOf(world: PerturbedWorld, { create, send, wait }: Ways): MachinePeople {
  const { machines } = world.observer
  const owner = (kind: string, name: string, uid: string | undefined) => ({
    apiVersion: 'kubevirt.io/v1',
    kind,
    name,
    uid,
    controller: true,
    blockOwnerDeletion: true,
  })
  const isAddressed = (claim: string): boolean =>
    allocatedOf(machines.claims.get(`default/${claim}`))?.status === 'True'
  async function changeTemplate(machine: string, wish: MachineWish): Promise<void> {
    await send('PATCH', vmPath(machine), { spec: { template: { metadata: askingOf(wish), spec: templateOf(wish) } } })
  }
  return {
    makeAttachment: (name, config) =>
      create('/apis/k8s.cni.cncf.io/v1/namespaces/default/network-attachment-definitions', {
        apiVersion: 'k8s.cni.cncf.io/v1',
        kind: 'NetworkAttachmentDefinition',
        metadata: { name, namespace: 'default' },
        spec: { config: JSON.stringify({ name, ...layer2, ...config }) },
      }),
    makeDefinedNetwork: (name, subnet) =>
      create(definedPath, {
        apiVersion: 'k8s.ovn.org/v1',
        kind: 'ClusterUserDefinedNetwork',
        metadata: { name },
        spec: {
          namespaceSelector: {},
          network: {
            topology: 'Layer2',
            layer2: { role: 'Secondary', subnets: [subnet], ipam: { lifecycle: 'Persistent' } },
          },
        },
      }),
    async deleteDefinedNetwork(name) {
      await send('DELETE', `${definedPath}/${name}`)
    },
    async spoilAttachment(name) {
      await send('PATCH', attachmentPath(name), { spec: { config: '{"type":"bridge"}' } })
    },
    untilRendered: name =>
      wait(`${name} is rendered`, () => createdOf(machines.definedNetworks.get(name))?.status === 'True'),
    untilNotRendered: name =>
      wait(`${name} says why not`, () => createdOf(machines.definedNetworks.get(name))?.status === 'False'),
    untilNoDefinedNetwork: name => wait(`no network ${name}`, () => !machines.definedNetworks.has(name)),
    makeMachine: (name, wish) =>
      create(`${kubevirt}/virtualmachines`, {
        apiVersion: 'kubevirt.io/v1',
        kind: 'VirtualMachine',
        metadata: { name, namespace: 'default', finalizers: [guard] },
        spec: { runStrategy: 'Always', template: { metadata: askingOf(wish), spec: templateOf(wish) } },
      }),
    startInstance: (name, wish) => {
      const vm = machines.vms.get(`default/${name}`)
      const ownerReferences = vm === undefined ? [] : [owner('VirtualMachine', name, vm.metadata.uid)]
      return create(`${kubevirt}/virtualmachineinstances`, {
        apiVersion: 'kubevirt.io/v1',
        kind: 'VirtualMachineInstance',
        metadata: { name, namespace: 'default', ownerReferences, ...askingOf(wish) },
        spec: templateOf(wish),
      })
    },
    async orphanInstance(name) {
      await send('PATCH', vmiPath(name), { metadata: { ownerReferences: null } })
    },
    async endInstance(name) {
      await send('DELETE', vmiPath(name))
    },
    makePod(pod, machine, wish) {
      const vmi = machines.vmis.get(`default/${machine}`)
      if (wish.shows !== undefined) machines.configuredByOthers.add(`default/${pod}`)
      return create('/api/v1/namespaces/default/pods', {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: {
          name: pod,
          namespace: 'default',
          labels: { 'kubevirt.io': 'virt-launcher', ...(wish.isTarget && { 'kubevirt.io/migrationJobUID': 'job' }) },
          annotations: {
            'kubevirt.io/domain': machine,
            'k8s.v1.cni.cncf.io/networks': networksText(machine, wish),
            ...shownBy(wish),
          },
          ownerReferences: [owner('VirtualMachineInstance', machine, vmi?.metadata.uid)],
        },
        spec: {
          nodeName: wish.node ?? (wish.isTarget ? 'node-2' : 'node-1'),
          containers: [{ name: 'compute', image: 'launcher' }],
        },
      })
    },
    async endPod(pod, phase = 'Succeeded') {
      await send('PATCH', `${podPath(pod)}/status`, { status: { phase } })
      await send('DELETE', podPath(pod))
    },
    async targetIsReady(pod) {
      const annotations = { 'kubevirt.io/migration-target-ready-timestamp': '2026-01-01T00:00:00Z' }
      await send('PATCH', podPath(pod), { metadata: { annotations } })
    },
    async replug(machine, wish, pod) {
      await changeTemplate(machine, wish)
      await send('PATCH', vmiPath(machine), { metadata: askingOf(wish), spec: templateOf(wish) })
      const annotations = { 'k8s.v1.cni.cncf.io/networks': networksText(machine, wish) }
      await send('PATCH', podPath(pod), { metadata: { annotations } })
    },
    changeTemplate,
    makeIPPool: (network, wish) =>
      create(ipPoolPath, {
        apiVersion: 'ippool.k8s.cni.cncf.io/v1alpha',
        kind: 'IPPool',
        metadata: { name: network },
        spec: { 'network-name': network, ...wish } satisfies IPPoolWish & { 'network-name': string },
      }),
    async changeIPPool(network, wish) {
      await send('PATCH', `${ipPoolPath}/${network}`, { spec: wish })
    },
    makeClaimBeforehand: (name, network, { ips = [], mac }) =>
      create('/apis/k8s.cni.cncf.io/v1alpha1/namespaces/default/ipamclaims', {
        apiVersion: 'k8s.cni.cncf.io/v1alpha1',
        kind: 'IPAMClaim',
        metadata: {
          name,
          namespace: 'default',
          annotations: {
            ...(ips.length > 0 && { 'mooring.dev/requested-ips': ips.join(',') }),
            ...(mac !== undefined && { 'mooring.dev/requested-mac': mac }),
          },
        },
        spec: { network, interface: '' },
      }),
    async writeIPs(name, ips) {
      machines.writtenByOthers.add(`default/${name} ${ips.join()}`)
      await send('PATCH', `${claimPath(name)}/status`, { status: { ips } })
    },
    async deleteMachine(name) {
      await send('DELETE', vmPath(name))
    },
    async letMachineGo(name) {
      await send('PATCH', vmPath(name), { metadata: { finalizers: null } })
    },
    async deleteClaim(name) {
      await send('DELETE', claimPath(name))
    },
    async editClaim(name, patch, subresource) {
      await send('PATCH', subresource === undefined ? claimPath(name) : `${claimPath(name)}/${subresource}`, patch)
    },
    untilAddressed: (...names) => wait(`${names.join(', ')} addressed`, () => names.every(isAddressed)),
    async whoIsAddressed(...names) {
      await wait(`one of ${names.join(', ')} addressed`, () => names.some(isAddressed))
      return names.find(isAddressed) ?? names[0] ?? ''
    },
    untilNoAddress: (name, reason) =>
      wait(`${name} waits`, () => {
        const said = allocatedOf(machines.claims.get(`default/${name}`))
        return said?.status === 'False' && (reason === undefined || said.reason === reason)
      }),
    untilOwnerPod: (name, pod) =>
      wait(`${name} is used by ${pod}`, () => machines.claims.get(`default/${name}`)?.status?.ownerPod?.name === pod),
    untilNoClaim: name => wait(`no claim ${name}`, () => !machines.claims.has(`default/${name}`)),
    untilTold: name =>
      wait(`${name} is told`, () => {
        const pod = machines.pods.get(`default/${name}`)
        if (pod === undefined) return false
        const told = toldTo(pod)
        const elements = JSON.parse(pod.metadata.annotations?.['k8s.v1.cni.cncf.io/networks'] ?? '[]') as {
          name: string
          'ipam-claim-reference': string
        }[]
        return elements.every(element => {
          const claim = machines.claims.get(`default/${element['ipam-claim-reference']}`)
          const shown = told.get(`default/${element.name}`) ?? []
          if (claim === undefined || shown.length === 0 || shown.join() !== addressesOf(claim).join()) return false
          const mac = macAskedBy(claim)
          return mac === undefined || macsToldTo(pod).get(`default/${element.name}`) === mac
        })
      }),
  }
}

const layer2 = {
  cniVersion: '1.1.0',
  type: 'ovn-k8s-cni-overlay',
  topology: 'layer2',
  allowPersistentIPs: true,
}

const templateOf = ({ interfaces, macs = {} }: MachineWish) => ({
  domain: {
    devices: {
      interfaces: Object.keys(interfaces).map(name => ({
        name,
        bridge: {},
        ...(macs[name] !== undefined && { macAddress: macs[name] }),
      })),
    },
  },
  networks: Object.entries(interfaces).map(([name, networkName]) => ({ name, multus: { networkName } })),
})

/** The metadata of a machine that asks for addresses. */
const askingOf = ({ ips }: MachineWish) =>
  ips === undefined ? {} : { annotations: { 'network.kubevirt.io/addresses': JSON.stringify(ips) } }

const shownBy = ({ interfaces, shows }: MachineWish) => {
  if (shows === undefined) return {}
  const entries = Object.entries(shows).map(([name, ips]) => {
    const entry = { ip_addresses: ips, mac_address: '0a:58:0a:09:00:01', role: 'secondary' }
    return [`default/${interfaces[name]}`, entry]
  })
  return { 'k8s.ovn.org/pod-networks': JSON.stringify(Object.fromEntries(entries)) }
}

/** As KubeVirt writes it: with the MAC, where the interface has one. */
const networksText = (machine: string, { interfaces, macs = {} }: MachineWish): string =>
  JSON.stringify(
    Object.entries(interfaces).map(([name, network]) => ({
      name: network,
      namespace: 'default',
      interface: `pod${createHash('sha256').update(name).digest('hex').slice(0, 11)}`,
      ...(macs[name] !== undefined && { mac: macs[name] }),
      'ipam-claim-reference': `${machine}.${name}`,
    })),
  )
