package lanes

import (
	"context"
	"slices"
	"sync"

	"github.com/foliot/foliot/internal/store/redisstore/keyspace"
	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
	"github.com/foliot/foliot/internal/task"
)

// bounds are the lanes whose lower bounds in the index of lanes are known to be
// lower than they have to be. Writes only lower a bound, which costs nothing to
// know; what a read learns of a lane's head is written now and then.
type bounds struct {
	mu  sync.Mutex
	low map[*keyspace.Shard]map[task.Lane]struct{}
}

func (b *bounds) add(sh *keyspace.Shard, lane task.Lane) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.low[sh] == nil {
		b.low[sh] = map[task.Lane]struct{}{}
	}
	b.low[sh][lane] = struct{}{}
}

func (b *bounds) take() map[*keyspace.Shard]map[task.Lane]struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := b.low
	b.low = map[*keyspace.Shard]map[task.Lane]struct{}{}
	return all
}

// maxRaised is how many bounds one run of the script raises: while it runs, Redis
// sends no reply, and a burst to very many destinations leaves as many bounds behind.
const maxRaised = 128

// RaiseBounds sets the bounds that are too low to the lanes' true heads, and
// removes those of empty lanes. What fails is found again by the next reads.
func (l *Index) RaiseBounds(ctx context.Context) error {
	type low struct {
		shard *keyspace.Shard
		lane  string
	}
	var all []low
	for sh, lanes := range l.bounds.take() {
		for lane := range lanes {
			all = append(all, low{sh, keyspace.LaneMember(lane)})
		}
	}
	parts, _ := redisconn.Group(l.servers.Cluster, all, func(l low) *keyspace.Shard { return l.shard })
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
	if len(runs) == 0 {
		return nil
	}
	_, err := l.servers.Repeat(ctx, raise, runs...)
	return err
}

// Correct sets the bounds of lanes to their true heads, and returns how many were wrong.
func (l *Index) Correct(ctx context.Context, sh *keyspace.Shard, members []string) (wrong int64, err error) {
	var r redisconn.Run
	for _, m := range members {
		r.Keys, r.Args = append(r.Keys, sh.Lanes, sh.Due(m)), append(r.Args, m)
	}
	results, err := l.servers.Repeat(ctx, raise, r)
	if err != nil {
		return 0, err
	}
	return results[0].AsInt64()
}
