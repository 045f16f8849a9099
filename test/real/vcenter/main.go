// A vCenter in one process: govmomi's simulator with the inventory it brings, over TLS on a loopback port the kernel
// chose. Prints its address, with the name and password it expects, once it listens; ends when it is told to.
//
// The guests of its machines do what cloud-init does: a machine that runs has the addresses its metadata gives it, and
// reports them as VMware's tools would.
package main

import (
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/vmware/govmomi/simulator"
	// Tags and content libraries, which clients of vCenter ask for.
	_ "github.com/vmware/govmomi/vapi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

func main() {
	model := simulator.VPX()
	if err := model.Create(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	defer model.Remove()
	model.Service.RegisterEndpoints = true
	model.Service.TLS = new(tls.Config)
	server := model.Service.NewServer()
	defer server.Close()
	fmt.Println(server.URL)

	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, syscall.SIGINT)
	for {
		select {
		case <-stop:
			return
		case <-time.After(200 * time.Millisecond):
			bootGuests(model)
		}
	}
}

func bootGuests(model *simulator.Model) {
	ctx := model.Service.Context
	for _, entity := range model.Map().All("VirtualMachine") {
		vm, ok := entity.(*simulator.VirtualMachine)
		if !ok {
			continue
		}
		ctx.WithLock(vm, func() {
			isOn := vm.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOn
			addresses := addressesOf(vm)
			// What a clone reports at first is what its template did.
			if isOn && len(addresses) > 0 && vm.Guest.IpAddress != addresses[0] {
				ctx.Update(vm, []types.PropertyChange{
					{Name: "guest.net", Val: report(vm, addresses)},
					{Name: "guest.ipAddress", Val: addresses[0]},
				})
			}
		})
	}
}

var address = regexp.MustCompile(`- "([0-9A-Fa-f.:]+)/\d+"`)

// The addresses in the network part of the metadata. Routes are written in another form.
func addressesOf(vm *simulator.VirtualMachine) []string {
	var found []string
	for _, option := range vm.Config.ExtraConfig {
		value := option.GetOptionValue()
		if text, isText := value.Value.(string); isText && value.Key == "guestinfo.metadata" {
			metadata, _ := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
			for _, match := range address.FindAllStringSubmatch(string(metadata), -1) {
				found = append(found, match[1])
			}
		}
	}
	return found
}

// One network interface is all that machines have here.
func report(vm *simulator.VirtualMachine, addresses []string) []types.GuestNicInfo {
	for _, device := range vm.Config.Hardware.Device {
		if card, isCard := device.(types.BaseVirtualEthernetCard); isCard {
			mac := card.GetVirtualEthernetCard().MacAddress
			return []types.GuestNicInfo{{MacAddress: mac, IpAddress: addresses, Connected: true}}
		}
	}
	return nil
}
