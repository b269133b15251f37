// Package lanes finds the tasks that wait in the shards of this node.
//
// The due tasks of a lane are a sorted set in each shard, and each shard has an
// index of its lanes. An Index keeps a low-water mark of each lane in memory.
// It reads the index of lanes in a loop (Poll) to find tasks that other nodes
// have added. A wake-up message reports them sooner, and can be lost.
package lanes
