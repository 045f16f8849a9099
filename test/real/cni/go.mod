// cnitool: a container runtime's side of CNI, by the library that runtimes use.
module mooring.dev/test/real/cni

go 1.24

tool github.com/containernetworking/cni/cnitool

require github.com/containernetworking/cni v1.3.0 // indirect
