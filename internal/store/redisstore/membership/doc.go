// Package membership makes this process one of the nodes that share a store in
// Redis.
//
// Each node sends heartbeats, and learns from them which nodes live. Which node
// should own which shard follows from their names alone (share.go), so live nodes
// agree without asking each other. Who owns a shard is in the shard's own key, for
// the length of a lease. A script compares the owner's id in the run that writes,
// so nodes that disagree own nothing twice.
//
// One goroutine, which Join starts and Release ends, sends the heartbeats, acquires,
// renews and releases the shards. What lies in a shard is the store's: Config.Prepare
// is called with each shard that this process has acquired.
package membership
