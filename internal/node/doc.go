// Package node wires a store, the dispatcher, the maintenance and the API
// together. A node listens nowhere and reads no flags.
package node
