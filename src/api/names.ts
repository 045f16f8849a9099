// The words that other programs look for: finalizers, annotations, labels, condition types and reasons. They are part of
// the API as much as any field is, and existing clusters already have them stored, so each is spelled once, here.

export const mooringGroup = 'mooring.dev'
export const ipamGroup = 'ipam.cluster.x-k8s.io'

export const cniGroup = 'k8s.cni.cncf.io'
export const kubevirtGroup = 'kubevirt.io'
export const ovnGroup = 'k8s.ovn.org'
export const machineGroup = 'machine.openshift.io'
/** Of the pools that the installer of OpenShift names in what it generates. */
export const installerGroup = 'installer.openshift.io'

// --- finalizers ---

/** On an IPAMClaim, from its birth: its addresses are given back before it goes, and not while a pod may still use them. */
export const persistentIPFinalizer = 'kubevirt.io/persistent-ipam'

/** On an IPAMClaim that a node made for a pod: it stays while the interface may still be in use on the node. */
export const nodeFinalizer = 'mooring.dev/node'

/** On a (Cluster)UserDefinedNetwork, and on its NetworkAttachmentDefinitions: they stay while the network is in use. */
export const protectNetworkFinalizer = 'k8s.ovn.org/user-defined-network-protection'

/** On a claim: its address is given back before it goes. Stored together with the choice. */
export const releaseAddressFinalizer = 'ipam.cluster.x-k8s.io/ReleaseAddress'
/** On an IPAddress: it stays while its claim does. */
export const protectAddressFinalizer = 'ipam.cluster.x-k8s.io/ProtectAddress'
/** On a pool: it stays while a claim holds one of its addresses. */
export const protectPoolFinalizer = 'ipam.cluster.x-k8s.io/ProtectPool'

/** On the claim of a Machine: it stays until the virtual machine is gone. The first is what clusters have stored, both are honoured. */
export const claimProtectionFinalizer = 'machine.openshift.io/ip-claim-protection'
export const claimProtectionFinalizers: readonly string[] = [
  claimProtectionFinalizer,
  'machines.openshift.io/ip-claim-protection',
]
/** On a MigrationNetwork: KubeVirt is back on the management network before it goes. */
export const migrationNetworkFinalizer = 'mooring.dev/migration-network'
/** On a Machine, by its controller: the virtual machine goes before it. */
export const machineFinalizer = 'machine.machine.openshift.io'

// --- annotations ---

/** On a Machine, by whichever value: its Node is not drained before its virtual machine is taken down. */
export const excludeNodeDrainingAnnotation = 'machine.openshift.io/exclude-node-draining'

/** On a Machine, by a user: when its set has too many, it goes first. Both spellings are in use. */
export const deleteMachineAnnotations: readonly string[] = [
  'machine.openshift.io/delete-machine',
  'machine.openshift.io/cluster-api-delete-machine',
]

/** On a claim: the choice made for it, canonical. Once there it never changes for that claim's uid. */
export const choiceAnnotation = 'mooring.dev/address'
/** On a claim, beside the choice: the prefix length and gateway that its IPAddress says, as `24 via 10.0.0.1` or `24`. */
export const subnetAnnotation = 'mooring.dev/subnet'
/** On a claim, by its author: the address it would like to have. */
export const requestedAddressAnnotation = 'mooring.dev/requested-address'
/** The same wish in the words of Metal3's IP address manager, so that its claims need no edit. */
export const metal3RequestedAddressAnnotation = 'ipAddress'
/** On a pool: it may be deleted although addresses of it are held. */
export const skipDeleteCheckAnnotation = 'ipam.cluster.x-k8s.io/skip-validate-delete-webhook'
/** On anything, with any value: hands off. */
export const pausedAnnotation = 'cluster.x-k8s.io/paused'
/** On a pool: what v1alpha1 said, kept so that it can be said again. */
export const conversionDataAnnotation = 'cluster.x-k8s.io/conversion-data'
/** By clusterctl: the object leaves this cluster because it lives on in another. */
export const deleteForMoveAnnotation = 'clusterctl.cluster.x-k8s.io/delete-for-move'

/** On an IPAMClaim: the NetworkAttachmentDefinition it is for, as namespace/name. */
export const attachmentAnnotation = 'mooring.dev/attachment'
/** On an IPAMClaim whose label could not say it, because a label is short: the name of its virtual machine. */
export const vmNameAnnotation = 'mooring.dev/virtual-machine'
/** On an IPAMClaim of no virtual machine and no pod: the uid of what uses it, a pod or an instance, as the node has seen it. */
export const usedByAnnotation = 'mooring.dev/used-by'
/** On an IPAMClaim: the version at which it last let go of what it could not have whole. */
export const gaveBackAnnotation = 'mooring.dev/gave-back'
/** On an IPAMClaim that asks for another MAC than before: the version of the last MACHold in its name that it lets go of. */
export const formerMACAnnotation = 'mooring.dev/former-mac-hold'
/**
 * On a launcher pod that was not told yet when an IPAMClaim that it names let go of a MAC: what the mark on the claim said then, as
 * `uid=version`.
 */
export const formerMACsAnnotation = 'mooring.dev/former-mac-holds'
/** On a launcher pod: uids of IPAMClaims that ended before it was given anything of them. It is given nothing of them any more. */
export const endedClaimsAnnotation = 'mooring.dev/ended-claims'
/** On a Machine: the addresses that its claims were bound to when its virtual machine was ordered, as `claim=address/24, ...`. */
export const claimedAddressesAnnotation = 'mooring.dev/claimed-addresses'
/**
 * On what asks for a migration network (the Setting of Harvester, a MigrationNetwork): what is in force, in canonical words; the roll-out
 * that is under way; the hash of the value that was rolled back. Without the last, that value is tried again.
 */
export const appliedNetworkAnnotation = 'mooring.dev/migration-network-applied'
export const rolloutAnnotation = 'mooring.dev/migration-network-rollout'
export const failedNetworkAnnotation = 'mooring.dev/migration-network-failed'
/** On a NetworkAttachmentDefinition, by its author: the other namespaces that may use the network; `*` for all. */
export const allowedNamespacesAnnotation = 'mooring.dev/allowed-namespaces'
/** On a NetworkAttachmentDefinition, by OVN-Kubernetes: the number of the network, which it serves. */
export const networkIDAnnotation = 'k8s.ovn.org/network-id'
/** On a (Cluster)UserDefinedNetwork that Mooring renders: the name of the network, as an IPAMClaim says it. */
export const networkNameAnnotation = 'mooring.dev/network-name'
/** Beside it, of a primary network: the gateways, and the addresses of the management ports, with commas between. */
export const gatewaysAnnotation = 'mooring.dev/gateways'
export const managementAnnotation = 'mooring.dev/management-addresses'
/** On a VirtualMachine that was imported: the machine of another platform that it was. */
export const importSourceAnnotation = 'mooring.dev/import-source'
/** Beside it: what of the VirtualMachine stands in for what an import does not know. */
export const placeholdersAnnotation = 'mooring.dev/placeholders'
/** On a VirtualMachine: which addresses its interfaces have, as JSON. Its status is KubeVirt's, which drops what it does not know. */
export const interfacesAnnotation = 'mooring.dev/network-interfaces'
/** On a pod: the networks it is attached to. */
export const networksAnnotation = 'k8s.v1.cni.cncf.io/networks'
/** On the object of a static pod, by the kubelet: the uid by which the runtime knows the pod. */
export const mirrorAnnotation = 'kubernetes.io/config.mirror'
/** On a pod, by Multus: what it is attached to. */
export const networkStatusAnnotation = 'k8s.v1.cni.cncf.io/network-status'
/** On the template of a virtual machine, by its author: the addresses its interfaces are to have, as JSON. */
export const addressesAnnotation = 'network.kubevirt.io/addresses'
/** On the template, and on the pod: what is wanted in the place of the pod network, as a list of one network selection element. */
export const defaultNetworkAnnotation = 'v1.multus-cni.io/default-network'
/** On an IPAMClaim: the addresses and the MAC that are asked for, where the definition of the kind keeps no field for them. */
export const requestedIPsAnnotation = 'mooring.dev/requested-ips'
export const requestedMACAnnotation = 'mooring.dev/requested-mac'
/** On an IPAMClaim that was made before its virtual machine: what of its request it came with, `ips` and `mac`. */
export const madeBeforehandAnnotation = 'mooring.dev/requested-beforehand'
/** On a launcher pod: the name of its VirtualMachineInstance. */
export const domainAnnotation = 'kubevirt.io/domain'
/** On a pod, for OVN-Kubernetes: addresses, MAC and routes of each attachment, as JSON. */
export const podNetworksAnnotation = 'k8s.ovn.org/pod-networks'
/** On a launcher pod: the IPAMClaim of its primary network, for versions of OVN-Kubernetes that read no other annotation. */
export const primaryClaimAnnotation = 'k8s.ovn.org/primary-udn-ipamclaim'
/** On the target pod of a live migration, by KubeVirt: the domain is ready to run there. */
export const targetReadyAnnotation = 'kubevirt.io/migration-target-ready-timestamp'

// --- labels ---

/** On an IPAMClaim: the virtual machine it is for. */
export const vmLabel = 'kubevirt.io/vm'
/** On an IPAMClaim that a node made for a pod: the name of the node. */
export const nodeLabel = 'mooring.dev/node'
/** On a launcher pod, with the value `virt-launcher`. */
export const launcherLabel = 'kubevirt.io'
/** On the target pod of a live migration. */
export const migrationJobLabel = 'kubevirt.io/migrationJobUID'

/** On a NetworkAttachmentDefinition that was made of a (Cluster)UserDefinedNetwork; empty. */
export const userDefinedNetworkLabel = 'k8s.ovn.org/user-defined-network'
/** On a namespace, with any value: its pods may have a primary network of their own. */
export const primaryNetworkLabel = 'k8s.ovn.org/primary-user-defined-network'

/** On every namespace, by the API server: its name. No user can change it. */
export const namespaceNameLabel = 'kubernetes.io/metadata.name'

export const clusterNameLabel = 'cluster.x-k8s.io/cluster-name'
/** On a Machine and on the sets that make it: the cluster, and the role of the machine in it. */
export const machineClusterLabel = 'machine.openshift.io/cluster-api-cluster'
export const machineRoleLabel = 'machine.openshift.io/cluster-api-machine-role'
export const machineTypeLabel = 'machine.openshift.io/cluster-api-machine-type'
/** On a Machine: the MachineSet that made it. */
export const machineSetLabel = 'machine.openshift.io/cluster-api-machineset'
export const watchFilterLabel = 'cluster.x-k8s.io/watch-filter'

// --- conditions ---

export const readyCondition = 'Ready'
/** Of a (Cluster)UserDefinedNetwork: its NetworkAttachmentDefinitions are there. */
export const networkCreatedCondition = 'NetworkCreated'
/** Of the same, by OVN-Kubernetes alone: its nodes have the network. */
export const networkAllocatedCondition = 'NetworkAllocationSucceeded'
/** Of an IPAMClaim: the type that OVN-Kubernetes writes, and the one of the proposal. Both say the same. */
export const ipsAllocatedCondition = 'IPsAllocated'
export const ipAllocatedCondition = 'IPAllocated'

/** Of a Machine: whether its claims are bound. In the provider status it is where the machine API keeps it. */
export const addressClaimedCondition = 'IPAddressClaimed'
export const addressClaimedReasons = {
  claimed: 'IPAddressesClaimed',
  waiting: 'WaitingForIPAddress',
  /** Nothing is claimed until the provider spec is corrected. */
  invalid: 'InvalidProviderSpec',
  /** The virtual machine runs with another address than its claims say. */
  drifted: 'IPAddressDrifted',
} as const
