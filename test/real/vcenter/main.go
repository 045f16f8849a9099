// A vCenter in one process: govmomi's simulator with the inventory it brings, over TLS on a loopback port that the kernel
// chose, or the flag says. Prints its address, with the name and password it expects, once it listens; ends when it is told to.
//
// The guests of its machines do what cloud-init and Afterburn do: a machine that runs has the addresses that its metadata or
// its kernel arguments give it, and reports them as VMware's tools would.
package main

import (
	"crypto/tls"
	"encoding/base64"
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/vmware/govmomi/simulator"
	// Tags and content libraries, which clients of vCenter ask for.
	_ "github.com/vmware/govmomi/vapi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

func main() {
	taskMs := flag.Int("task-ms", 0, "how long every task takes, in milliseconds")
	listen := flag.String("listen", "127.0.0.1:0", "where it listens, as host:port")
	flag.Parse()
	// Objects can be read while a task works on them, as with a real vCenter.
	simulator.TaskDelay.Delay = *taskMs
	simulator.TaskDelay.MethodDelay = map[string]int{"LockHandoff": 0}
	model := simulator.VPX()
	if err := model.Create(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	defer model.Remove()
	clones := &clones{ordered: map[string]types.VirtualMachineConfigSpec{}}
	model.Map().AddHandler(clones)
	model.Map().Handler = clones.note
	model.Service.RegisterEndpoints = true
	model.Service.TLS = new(tls.Config)
	// Without a name and password of its own it lets in every client that has any.
	model.Service.Listen = &url.URL{Host: *listen, User: url.UserPassword("user", "pass")}
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

// The simulator drops the instance UUID and the extra configuration that a clone is ordered with. They are noted when the
// order comes, and given to the clone before anything else can see it.
type clones struct {
	sync.Mutex
	ordered map[string]types.VirtualMachineConfigSpec
}

var directory = regexp.MustCompile(`\] (.*?)(?: \(\d+\))?$`)

func (c *clones) note(_ *simulator.Context, method *simulator.Method) (mo.Reference, types.BaseMethodFault) {
	if order, isClone := method.Body.(*types.CloneVM_Task); isClone && order.Spec.Config != nil {
		c.Lock()
		defer c.Unlock()
		c.ordered[order.Folder.Value+"/"+order.Name] = *order.Spec.Config
	}
	return nil, nil
}

func (c *clones) PutObject(_ *simulator.Context, object mo.Reference) {
	vm, isVM := object.(*simulator.VirtualMachine)
	if !isVM || vm.Parent == nil {
		return
	}
	// It has no name yet, but a directory of its name.
	match := directory.FindStringSubmatch(vm.Config.Files.SnapshotDirectory)
	if match == nil {
		return
	}
	c.Lock()
	defer c.Unlock()
	if spec, isOrdered := c.ordered[vm.Parent.Value+"/"+match[1]]; isOrdered {
		vm.Config.InstanceUuid = spec.InstanceUuid
		vm.Config.ExtraConfig = append(vm.Config.ExtraConfig, spec.ExtraConfig...)
	}
}

func (c *clones) Reference() types.ManagedObjectReference {
	return types.ManagedObjectReference{Type: "Clones", Value: "clones"}
}

func (c *clones) UpdateObject(*simulator.Context, mo.Reference, []types.PropertyChange) {}

func (c *clones) RemoveObject(*simulator.Context, types.ManagedObjectReference) {}

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

var argument = regexp.MustCompile(`(?:^| )ip=(?:\[([0-9A-Fa-f:]+)\]|([0-9.]+)):`)

// The addresses in the network part of the metadata, and in the kernel arguments. Routes are written in another form.
func addressesOf(vm *simulator.VirtualMachine) []string {
	var found []string
	for _, option := range vm.Config.ExtraConfig {
		value := option.GetOptionValue()
		text, isText := value.Value.(string)
		if isText && value.Key == "guestinfo.metadata" {
			metadata, _ := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
			for _, match := range address.FindAllStringSubmatch(string(metadata), -1) {
				found = append(found, match[1])
			}
		}
		if isText && value.Key == "guestinfo.afterburn.initrd.network-kargs" {
			for _, match := range argument.FindAllStringSubmatch(text, -1) {
				found = append(found, match[1]+match[2])
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
