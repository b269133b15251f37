// Package node connects a store, the dispatcher, the maintenance and the API to
// one node. A node opens no listener and reads no flags: internal/server does.
package node
