package redisconn

import "github.com/foliot/foliot/internal/store/redisstore/keyspace"

// MaxReads is the largest number of records that one run of a script reads.
const MaxReads = 100

// Group divides list into groups that one call can touch: in a Cluster, each
// group lies in one slot. For each group it also returns the indexes of its
// elements in list.
func Group[T any](cluster bool, list []T, shardOf func(T) *keyspace.Shard) (parts [][]T, places [][]int) {
	open := map[uint16]int{}
	for i, one := range list {
		slot := uint16(0)
		if cluster {
			slot = shardOf(one).Slot
		}
		at, ok := open[slot]
		if !ok || len(parts[at]) == MaxReads {
			at = len(parts)
			parts, places, open[slot] = append(parts, nil), append(places, nil), at
		}
		parts[at], places[at] = append(parts[at], one), append(places[at], i)
	}
	return parts, places
}
