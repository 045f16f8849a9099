// Tests connect a client to a world in the same way in which the product connects its desks to its own API server.

export { type EmbeddedWireOptions as KubeWireOptions, embeddedWire as kubeWire } from '../../src/cli/embedded-wire.ts'
