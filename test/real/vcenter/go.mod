// A vCenter to talk to: govmomi's simulator, started by the few lines in main.go.
module mooring.dev/test/real/vcenter

go 1.25.0

require github.com/vmware/govmomi v0.52.0

require github.com/google/uuid v1.6.0 // indirect
