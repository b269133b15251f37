// Package membership makes this process one of the nodes that share a store.
//
// Each node sends heartbeats to the registry, and learns from them which nodes are
// live. The names of the live nodes alone decide which node should own which shard
// (share.go), so live nodes agree without a vote. The registry keeps the owner of
// each shard for the length of a lease, by its own clock.
//
// Invariants:
//
//   - The registry gives a shard to another node only after the lease of its owner
//     has ended or has been released.
//   - A node acts as the owner from the reply of the registry until 11/12 of the
//     lease have passed since its request, by its monotonic clock or its wall clock.
//     It reads both, because the monotonic clock may stand still while the machine
//     sleeps, and the wall clock may step back.
//   - So at one instant at most one node acts as the owner, if the registry loses no
//     write and its clock steps by less than 1/12 of a lease. A store still checks
//     the owner's id in each write, because a write may be on its way for long.
//   - If a node joins, leaves or dies, all shards have an owner again one lease and a
//     heartbeat later.
//
// One goroutine sends the heartbeats, and acquires, renews and releases shards.
// Join starts it and Release ends it. The store manages the content of shards:
// Config.Acquired is called for each acquired shard, and Config.Prepare reads it.
package membership
