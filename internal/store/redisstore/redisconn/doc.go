// Package redisconn is how a store reaches its Redis: one server, one with
// replicas, or a Cluster.
//
// Servers runs scripts and commands, and repeats what a server could not take
// (Ask, Repeat). Writes leave in batches, and wait for as many replicas as the
// level of durability wants (Write, Put). A goroutine looks at the masters each
// second: their memory, their settings and their clocks. If the settings of a
// master may lose tasks, the servers are unfit, and Room returns why.
//
// The package knows neither tasks nor settings. It knows the names of keys
// (package keyspace), and that a store has an identity: scripts compare it with
// the one that their caller knows (Loss).
package redisconn
