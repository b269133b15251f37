// Package lanes finds the tasks that wait in the shards of this node. The due tasks of
// a lane are a sorted set in each shard, and each shard has an index of its lanes. An
// Index keeps a low-water mark of each lane in memory, and polls the index of lanes
// for tasks that other nodes have added.
package lanes
