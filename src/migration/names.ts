// What Harvester calls things of the migration network. Clusters have these stored, and its users know them.

/** Of the Setting, and of the one MigrationNetwork. */
export const settingName = 'vm-migration-network'

/** The setting of Harvester with everything else about migrations. */
export const tuningName = 'kubevirt-migration'

const prefix = 'vm-migration-network.settings.harvesterhci.io'

/** On the Setting: the hash of the value that was applied. On a NetworkAttachmentDefinition, as a label: of the value it was made of. */
export const hashKey = `${prefix}/hash`
/** On the Setting: the NetworkAttachmentDefinition in use, as namespace/name; empty where there is none. */
export const attachmentKey = `${prefix}/net-attach-def`
/** On the NetworkAttachmentDefinition, with the value "true". */
export const markerAnnotation = prefix

/** What names of its NetworkAttachmentDefinitions begin with. */
export const attachmentPrefix = 'vm-migration-network-'

/** Where Harvester has KubeVirt, and all that belongs to it. */
export const harvesterKubeVirt = { namespace: 'harvester-system', name: 'kubevirt' } as const

/** The cluster network that every node of Harvester has. */
export const managementNetwork = 'mgmt'

/** What virt-operator calls the interface in a pod of virt-handler. */
export const migrationInterface = 'migration0'

/** The condition of the Setting. */
export const configuredCondition = 'configured'

/** Settings of Harvester that have networks of their own. */
export const siblingSettings = ['storage-network', 'rwx-network'] as const

/** The bridge that Harvester makes of a cluster network on each of its nodes. */
export const bridgeOf = (clusterNetwork: string): string => `${clusterNetwork}-br`
