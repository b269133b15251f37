package lanes

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/store/redisstore/keyspace"
	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
	"github.com/foliot/foliot/internal/task"
)

// bounds holds the lanes that have too low a bound in the index of lanes.
// Writes only lower a bound, because that needs no read. Reads find the true
// heads of lanes, and RaiseBounds writes these heads from time to time.
type bounds struct {
	mu  sync.Mutex
	low map[bound]struct{}
}

// bound names a bound: a member of a shard's index of lanes.
type bound struct {
	shard *keyspace.Shard
	lane  string
}

func (b *bounds) add(sh *keyspace.Shard, lane task.Lane) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.low[bound{sh, keyspace.LaneMember(lane)}] = struct{}{}
}

func (b *bounds) take() []bound {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := slices.Collect(maps.Keys(b.low))
	clear(b.low)
	return all
}

// maxRaised is the largest number of bounds that one run of the script raises.
// Redis sends no reply while a script runs, and a burst to very many
// destinations leaves as many bounds behind.
const maxRaised = 128

// RaiseBounds raises the bounds that are too low to the true heads of their
// lanes, and removes those of empty lanes. Bounds that could not be raised are
// found by later reads.
func (x *Index) RaiseBounds(ctx context.Context) error {
	parts, _ := redisconn.Group(x.servers.Cluster, x.bounds.take(), func(b bound) *keyspace.Shard { return b.shard })
	var runs []redisconn.Run
	for _, part := range parts {
		for some := range slices.Chunk(part, maxRaised) {
			var r redisconn.Run
			for _, l := range some {
				r.Keys = append(r.Keys, l.shard.Lanes, l.shard.Due(l.lane))
				r.Args = append(r.Args, l.lane)
			}
			runs = append(runs, r)
		}
	}
	_, err := x.servers.Repeat(ctx, raise, runs...)
	return err
}

// Correct sets the bounds of lanes to their true heads, and returns how many
// bounds were too high or missing.
func (x *Index) Correct(ctx context.Context, sh *keyspace.Shard, members []string) (wrong int64, err error) {
	var r redisconn.Run
	for _, m := range members {
		r.Keys, r.Args = append(r.Keys, sh.Lanes, sh.Due(m)), append(r.Args, m)
	}
	results, err := redisconn.ReadRuns(ctx, x.servers, rueidis.RedisResult.AsInt64, raise, r)
	if err != nil {
		return 0, err
	}
	return results[0], nil
}
