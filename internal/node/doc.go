// Package node wires a store, the dispatcher, the maintenance and the API
// together. A node does not listen and reads no flags.
package node
