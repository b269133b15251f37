// Package redisconn connects a store to its Redis: one server, one with
// replicas, or a Cluster.
//
// Servers runs scripts and commands, and retries calls that a server could not
// take (Ask, Repeat). Writes are sent in batches, and wait for as many replicas
// as the durability level requires (Write, Put). A goroutine checks the masters
// each second: their memory, settings and clocks. If the settings of a master
// allow the loss of tasks, the servers count as unfit, and Room returns the
// reason.
//
// The package does not know tasks or settings. It knows the names of keys
// (package keyspace) and that a store has an identity: scripts compare the
// stored identity with the one that their caller sends (Loss).
package redisconn
