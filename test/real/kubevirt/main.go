// What KubeVirt's operator would install for virt-api and virt-controller, as one JSON list: definitions, service accounts
// with their roles, webhook configurations and API services. The functions that make them are KubeVirt's own.
package main

import (
	"encoding/json"
	"log"
	"os"

	extensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"kubevirt.io/kubevirt/pkg/virt-operator/resource/generate/components"
	"kubevirt.io/kubevirt/pkg/virt-operator/resource/generate/rbac"
)

const namespace = "kubevirt"

var definitions = []func() (*extensions.CustomResourceDefinition, error){
	components.NewKubeVirtCrd,
	components.NewMigrationPolicyCrd,
	components.NewPresetCrd,
	components.NewReplicaSetCrd,
	components.NewVirtualMachineCloneCrd,
	components.NewVirtualMachineClusterInstancetypeCrd,
	components.NewVirtualMachineClusterPreferenceCrd,
	components.NewVirtualMachineCrd,
	components.NewVirtualMachineExportCrd,
	components.NewVirtualMachineInstanceCrd,
	components.NewVirtualMachineInstanceMigrationCrd,
	components.NewVirtualMachineInstancetypeCrd,
	components.NewVirtualMachinePoolCrd,
	components.NewVirtualMachinePreferenceCrd,
	components.NewVirtualMachineRestoreCrd,
	components.NewVirtualMachineSnapshotContentCrd,
	components.NewVirtualMachineSnapshotCrd,
}

func main() {
	items := []any{}
	for _, define := range definitions {
		definition, err := define()
		if err != nil {
			log.Fatal(err)
		}
		items = append(items, definition)
	}
	for _, object := range rbac.GetAllCluster() {
		items = append(items, object)
	}
	for _, object := range rbac.GetAllApiServer(namespace) {
		items = append(items, object)
	}
	for _, object := range rbac.GetAllController(namespace) {
		items = append(items, object)
	}
	for _, object := range rbac.GetAllHandler(namespace) {
		items = append(items, object)
	}
	items = append(items, components.NewVirtAPIMutatingWebhookConfiguration(namespace))
	items = append(items, components.NewVirtAPIValidatingWebhookConfiguration(namespace))
	for _, service := range components.NewVirtAPIAPIServices(namespace) {
		items = append(items, service)
	}
	list := map[string]any{"apiVersion": "v1", "kind": "List", "items": items}
	if err := json.NewEncoder(os.Stdout).Encode(list); err != nil {
		log.Fatal(err)
	}
}
