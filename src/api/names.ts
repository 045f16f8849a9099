// The words that other programs look for: finalizers, annotations, labels, condition types and reasons. They are part of
// the API as much as any field is, and existing clusters already have them stored, so each is spelled once, here.

export const mooringGroup = 'mooring.dev'
export const ipamGroup = 'ipam.cluster.x-k8s.io'

// --- finalizers ---

/** On a claim: its address is given back before it goes. Stored together with the choice. */
export const releaseAddressFinalizer = 'ipam.cluster.x-k8s.io/ReleaseAddress'
/** On an IPAddress: it stays while its claim does. */
export const protectAddressFinalizer = 'ipam.cluster.x-k8s.io/ProtectAddress'
/** On a pool: it stays while a claim holds one of its addresses. */
export const protectPoolFinalizer = 'ipam.cluster.x-k8s.io/ProtectPool'

// --- annotations ---

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

// --- labels ---

export const clusterNameLabel = 'cluster.x-k8s.io/cluster-name'
export const watchFilterLabel = 'cluster.x-k8s.io/watch-filter'

// --- conditions ---

export const readyCondition = 'Ready'

/** Reasons of a claim's Ready that Cluster API's own dashboards and consumers know. */
export const claimReasons = {
  allocated: 'AddressAllocated',
  failed: 'AllocationFailed',
  poolNotReady: 'PoolNotReady',
  poolExhausted: 'PoolExhausted',
} as const
