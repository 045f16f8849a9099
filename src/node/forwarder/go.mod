// The CNI plugin `mooring`: hands each call to `mooring node`. Standard library only.
module mooring.dev/node/forwarder

go 1.24
