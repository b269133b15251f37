package redisconn

import "github.com/foliot/foliot/internal/store/redisstore/keyspace"

// MaxReads is how many records one run of a script reads.
const MaxReads = 100

// Group divides list into parts that one call may touch: in a cluster those of
// one slot. It returns with each part the places of its elements in list.
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
