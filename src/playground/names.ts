// Words of KubeVirt and of multus that only the playground writes; those that Mooring reads too are in `src/api/names.ts`.

/** On a VirtualMachineInstanceMigration, with any value: the node agent lets it fail. The value is the reason it gives. */
export const failMigrationAnnotation = 'playground.mooring.dev/fail-migration'

/** On a node, with any value: virt-handler does not come up there on a migration network. The value is the reason it gives. */
export const failHandlerAnnotation = 'playground.mooring.dev/fail-virt-handler'
/** On a node, with any value: cluster networks cannot be set up there. The value is the reason. */
export const failVlanAnnotation = 'playground.mooring.dev/fail-cluster-networks'

/** On a virtual machine, and on the instances made by it. */
export const machineFinalizer = 'kubevirt.io/virtualMachineControllerFinalize'
/** On an instance: it stays while it has pods. */
export const instanceFinalizer = 'kubevirt.io/foregroundDeleteVirtualMachine'
/** The same, as older KubeVirt wrote it. */
export const oldInstanceFinalizer = 'foregroundDeleteVirtualMachine'
export const migrationFinalizer = 'kubevirt.io/migrationJobFinalize'

export const createdByLabel = 'kubevirt.io/created-by'
export const nodeNameLabel = 'kubevirt.io/nodeName'
export const schedulableLabel = 'kubevirt.io/schedulable'
export const targetNodeLabel = 'kubevirt.io/migrationTargetNodeName'
export const instanceNameLabel = 'kubevirt.io/vmi-name'
export const migrationNameAnnotation = 'kubevirt.io/migrationJobName'
