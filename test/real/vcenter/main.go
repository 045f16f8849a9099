// A vCenter in one process: govmomi's simulator with the inventory it brings, over TLS on a loopback port the kernel
// chose. Prints its address, with the name and password it expects, once it listens; ends when it is told to.
package main

import (
	"crypto/tls"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/vmware/govmomi/simulator"
	// Tags and content libraries, which clients of vCenter ask for.
	_ "github.com/vmware/govmomi/vapi/simulator"
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
	<-stop
}
