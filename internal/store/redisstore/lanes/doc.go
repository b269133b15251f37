// Package lanes knows what waits in the shards that this node owns.
//
// The due tasks of a lane are a sorted set in each shard, and each shard has an index
// of its lanes. An Index keeps a low-water mark of each lane in memory. It reads the
// index of lanes in a loop (Poll) to find what other nodes have put there. A wake-up
// says the same sooner, and may get lost.
package lanes
