// Package membership makes this process one of the nodes that share a store in
// Redis.
//
// Each node sends heartbeats, and learns from them which nodes are live. The
// names of the live nodes alone decide which node should own which shard
// (share.go), so live nodes agree without a vote. The owner of a shard is
// stored in the shard's own key for the length of a lease. Each script checks
// the owner's id in the run that writes. So at most one node can act as the
// owner, even if nodes disagree.
//
// One goroutine sends the heartbeats, and acquires, renews and releases shards.
// Join starts it and Release ends it. The store manages the content of shards:
// this package calls Config.Prepare with each acquired shard.
package membership
