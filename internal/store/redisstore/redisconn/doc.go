// Package redisconn connects a store to its Redis: one server, one with replicas, or
// a Cluster.
//
// Servers runs scripts and commands, and retries calls that a server could not take
// (Ask, Repeat). Writes are sent in batches, and wait for as many replicas as the
// durability level requires (Write, Put). A goroutine checks the memory, settings and
// clocks of the masters each second. The package knows no tasks and no settings.
package redisconn
