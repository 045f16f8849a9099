// A scenario is what people do, through the API alone, and what they wait for before they go on. It says nothing about
// how desks work or what goes wrong meanwhile, so the same script serves every world it can be played in.

import type { Desk } from '../../src/controllers/desk.ts'

export interface Scenario {
  readonly name: string
  /** Claims of which it is chance which one gets what. */
  readonly interchangeable?: readonly string[]
  /** How it ends depends on what had come about before people went on. */
  readonly needsPatience?: boolean
  /** Mooring makes the virtual machines of Machines, at a stand-in for a vCenter. */
  readonly isFull?: boolean
  /** The table of desks: by default the product's. */
  readonly table?: readonly Desk[]
  /** Of the product's desks those that have something to do in it. */
  readonly concerns?: readonly string[]
  /** Nodes whose agents run. */
  readonly nodes?: readonly string[]
  play(people: People): Promise<void>
}

export interface PoolWish {
  readonly kind?: 'AddressPool' | 'ClusterAddressPool' | 'InClusterIPPool' | 'GlobalInClusterIPPool'
  readonly namespace?: string
  readonly name?: string
  readonly addresses: readonly string[]
  /** Any further field of the spec. */
  readonly more?: object
}

export interface ClaimWish {
  readonly namespace?: string
  readonly pool?: string
  readonly poolKind?: string
  /** The address it asks for. */
  readonly asks?: string
  readonly cluster?: string
  /** The machine it is made for. */
  readonly machine?: string
}

/** What a berth of the toy desk asks for. */
export interface BerthWish {
  readonly network: string
  readonly mac?: string
  readonly addresses?: readonly string[]
}

/** A virtual machine: the network of each of its interfaces. */
export interface MachineWish {
  readonly interfaces: Readonly<Record<string, string>>
  /** What each interface asks for. */
  readonly macs?: Readonly<Record<string, string>>
  readonly ips?: Readonly<Record<string, readonly string[]>>
  /** Of a pod: where it runs. */
  readonly node?: string
  /** Of a pod: the target of a live migration. */
  readonly isTarget?: boolean
  /** Of a pod: what another program has configured it with, by interface. */
  readonly shows?: Readonly<Record<string, readonly string[]>>
}

export interface IPPoolWish {
  readonly entries?: Readonly<Record<string, readonly string[] | null>>
  readonly bindings?: Readonly<Record<string, object>>
}

export type Kind = 'pool' | 'claim' | 'namespace' | 'cluster' | 'berth'

/** Names are of the namespace `default` unless they say `namespace/name`. */
export interface People {
  makePool(wish: PoolWish): Promise<void>
  makeClaim(name: string, wish?: ClaimWish): Promise<void>
  makeNetwork(name: string, spec: object): Promise<void>
  makeBerth(name: string, wish: BerthWish): Promise<void>
  makeNamespace(name: string, labels?: Readonly<Record<string, string>>): Promise<void>
  makeCluster(name: string, isPaused: boolean): Promise<void>
  /** A merge patch. Answers the code. */
  change(kind: Kind, name: string, patch: object, poolKind?: string): Promise<number>
  remove(kind: Kind, name: string, poolKind?: string): Promise<void>
  untilBound(...claims: readonly string[]): Promise<void>
  untilServed(...berths: readonly string[]): Promise<void>
  /** The first of these that is served. */
  whoIsServed(...berths: readonly string[]): Promise<string>
  /** Until the berth says why it waits, and holds nothing. */
  untilWaiting(berth: string, reason: string): Promise<void>
  /** The first of these that is bound. */
  whoIsBound(...claims: readonly string[]): Promise<string>
  untilGone(kind: Kind, ...names: readonly string[]): Promise<void>
  /** Until it says why it has no address. */
  untilRefused(claim: string, reason: string): Promise<void>
  /** Until some hold of it is there, however far the rest has come. */
  untilHeld(claim: string): Promise<void>
  untilChosen(claim: string): Promise<void>
  pass(seconds: number): Promise<void>

  /** A Machine of OpenShift: the AddressPools that its one device takes an address from, each. */
  orderMachine(name: string, ...pools: readonly string[]): Promise<void>
  cancelMachine(name: string): Promise<void>
  /** The machine API has removed its virtual machine, and takes its finalizer off. */
  letOrderGo(name: string): Promise<void>
  /** Until it says that all of its claims are bound. */
  untilClaimed(...machines: readonly string[]): Promise<void>
  /** Until it says that it waits, with this in its message. */
  untilNotClaimed(machine: string, text: string): Promise<void>
  untilNoOrder(...machines: readonly string[]): Promise<void>

  /** What Mooring logs in to the vCenter with. */
  giveCredentials(): Promise<void>
  /** Until its virtual machine runs, and the Machine says so. */
  untilRunning(...machines: readonly string[]): Promise<void>
  /** Until the vCenter has a virtual machine of that name, however far the rest has come. */
  untilCloned(machine: string): Promise<void>
  /** Until the Machine says that a clone was ordered. */
  untilCloneOrdered(machine: string): Promise<void>
  /** A MachineSet whose Machines take an address of the pool each; made if it is not there. */
  scaleSet(name: string, replicas: number, pool: string): Promise<void>
  /** Until so many virtual machines run, and the set has no more Machines. */
  untilScaled(name: string, replicas: number): Promise<void>

  /** Nodes with virt-handler, KubeVirt, whose operator rolls its pods by itself, and the setting of Harvester. */
  makeFleet(...nodes: readonly string[]): Promise<void>
  addNode(name: string): Promise<void>
  /** What the setting asks for; undefined for the management network. */
  setMigrationNetwork(value: object | undefined): Promise<void>
  /** A user takes the network out of the KubeVirt object. */
  spoilMigrationNetwork(): Promise<void>
  /** Until the setting says that the node has no address. */
  untilUnaddressed(node: string): Promise<void>
  /** Until every node migrates over this VLAN, or over the management network, and nothing else is left. */
  untilConfigured(vlan: number | undefined): Promise<void>

  /** A NetworkAttachmentDefinition of a layer2 network of that name, which keeps addresses. */
  makeAttachment(name: string, config: object): Promise<void>
  /** A ClusterUserDefinedNetwork for every namespace: of layer2, secondary, which keeps addresses. */
  makeDefinedNetwork(name: string, subnet: string): Promise<void>
  deleteDefinedNetwork(name: string): Promise<void>
  /** A user changes what was rendered of it. */
  spoilAttachment(name: string): Promise<void>
  /** Until its condition says so. */
  untilRendered(network: string): Promise<void>
  untilNotRendered(network: string): Promise<void>
  untilNoDefinedNetwork(network: string): Promise<void>
  makeMachine(name: string, wish: MachineWish): Promise<void>
  /** The VirtualMachineInstance of a machine. */
  startInstance(name: string, wish: MachineWish): Promise<void>
  /** It is no longer owned by its machine. */
  orphanInstance(name: string): Promise<void>
  endInstance(name: string): Promise<void>
  /** A launcher pod on a node, that names the claims of its interfaces. */
  makePod(pod: string, machine: string, wish: MachineWish): Promise<void>
  /** It ends, and goes. */
  endPod(pod: string, phase?: 'Succeeded' | 'Failed'): Promise<void>
  targetIsReady(pod: string): Promise<void>
  replug(machine: string, wish: MachineWish, pod: string): Promise<void>
  /** Counts from the next start on. */
  changeTemplate(machine: string, wish: MachineWish): Promise<void>
  deleteMachine(name: string): Promise<void>
  /** KubeVirt's finalizer comes off. */
  letMachineGo(name: string): Promise<void>
  deleteClaim(name: string): Promise<void>
  editClaim(name: string, patch: object, subresource?: 'status'): Promise<void>
  /** Of the network of that name, and named like it. */
  makeIPPool(network: string, wish: IPPoolWish): Promise<void>
  changeIPPool(network: string, wish: IPPoolWish): Promise<void>
  /** A claim of no machine. */
  makeClaimBeforehand(
    name: string,
    network: string,
    asks: { readonly ips?: readonly string[]; readonly mac?: string },
  ): Promise<void>
  /** Another program says what a claim has. */
  writeIPs(claim: string, ips: readonly string[]): Promise<void>
  untilAddressed(...claims: readonly string[]): Promise<void>
  /** The first of these that is addressed. */
  whoIsAddressed(...claims: readonly string[]): Promise<string>
  /** Until it says why it has not what it asks for. */
  untilNoAddress(claim: string, reason?: string): Promise<void>
  untilOwnerPod(claim: string, pod: string): Promise<void>
  untilNoClaim(claim: string): Promise<void>
  /** Until every claim that the pod names is in its annotation. */
  untilTold(pod: string): Promise<void>

  makeNode(name: string): Promise<void>
  /** A pod of no virtual machine, with one interface. */
  makePlainPod(name: string, node: string, attachment: string): Promise<void>
  /** Without grace: the object goes, its sandbox stays. */
  forcePodAway(name: string): Promise<void>
  /** The runtime of the node calls ADD for the interface of a pod, again and again until it is answered well. */
  attach(pod: string, ifname?: string): Promise<void>
  /** The sandbox has gone, and the runtime calls DEL in the same way. */
  detach(pod: string, ifname?: string): Promise<void>
  /** Until no claim is left that a node made. */
  untilNoPodClaims(): Promise<void>
}
