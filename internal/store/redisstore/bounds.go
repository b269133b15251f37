package redisstore

import (
	"context"
	"sync"

	"github.com/foliot/foliot/internal/task"
)

// bounds are the lanes whose lower bounds in the index of lanes are known to be
// lower than they have to be. Writes only lower a bound, which costs nothing to
// know; what a read learns of a lane's head is written now and then.
type bounds struct {
	mu  sync.Mutex
	low map[*shard]map[task.Lane]struct{}
}

func (b *bounds) add(sh *shard, lane task.Lane) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.low[sh] == nil {
		b.low[sh] = map[task.Lane]struct{}{}
	}
	b.low[sh][lane] = struct{}{}
}

func (b *bounds) take() map[*shard]map[task.Lane]struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := b.low
	b.low = map[*shard]map[task.Lane]struct{}{}
	return all
}

// raiseBounds sets the bounds that are too low to the lanes' true heads, and
// removes those of empty lanes. What fails is found again by the next reads.
func (s *Store) raiseBounds(ctx context.Context) error {
	type low struct {
		shard *shard
		lane  string
	}
	var all []low
	for sh, lanes := range s.bounds.take() {
		for lane := range lanes {
			all = append(all, low{sh, laneMember(lane)})
		}
	}
	parts, _ := group(s.servers.cluster, all, func(l low) *shard { return l.shard })
	runs := make([]run, len(parts))
	for i, part := range parts {
		for _, l := range part {
			runs[i].keys = append(runs[i].keys, l.shard.lanes, l.shard.due(l.lane))
			runs[i].args = append(runs[i].args, l.lane)
		}
	}
	if len(runs) == 0 {
		return nil
	}
	_, err := s.servers.repeat(ctx, raise, runs...)
	return err
}
