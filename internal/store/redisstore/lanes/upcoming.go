package lanes

import (
	"cmp"
	"context"
	"slices"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/redisstore/keyspace"
	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
	"github.com/foliot/foliot/internal/task"
)

const (
	// maxUpcoming bounds the lanes that Upcoming examines in all shards together.
	maxUpcoming = 32_768
	// maxExtended is the number of lanes that are read at a time.
	maxExtended = 128
)

// Upcoming returns the first entries that r selects in the shards of all nodes:
// at most r.Limit, in the order of due times. No other entry is due before end.
// It reads only the servers, because a node has marks of its own shards alone.
func (l *Index) Upcoming(ctx context.Context, r store.UpcomingRead) (found []task.Entry, end task.Millis, err error) {
	most := max(maxUpcoming/len(l.shards), 16)
	for lanes := min(most, 16+2*r.Limit/len(l.shards)); ; lanes = min(4*lanes, most) {
		var strands []*strand
		if strands, end, err = l.waitingLanes(ctx, &r, lanes); err != nil {
			return nil, 0, err
		}
		until := min(r.Until, end)
		for {
			found = firstEntries(strands, until, r.Limit)
			open := unread(strands, found, until, r.Limit)
			if len(open) == 0 {
				break
			}
			if err := l.extend(ctx, open); err != nil {
				return nil, 0, err
			}
		}
		if len(found) == r.Limit {
			return found, found[r.Limit-1].Due, nil
		}
		if end > r.Until || lanes == most {
			return found, min(end, r.Until+1), nil
		}
	}
}

// waitingLanes returns strands for the lanes of r with the lowest bounds, reading
// at most a number of lanes in each shard. No other lane has an entry before
// end.
func (l *Index) waitingLanes(ctx context.Context, r *store.UpcomingRead, most int) (strands []*strand, end task.Millis, err error) {
	commands := make([]redisconn.Command, len(l.shards))
	for i, sh := range l.shards {
		commands[i] = func(b rueidis.Builder) rueidis.Completed {
			return b.Zrange().Key(sh.Lanes).Min("-inf").Max(redisconn.Score(r.Until)).Byscore().Limit(0, int64(most)).Withscores().Build()
		}
	}
	results, err := l.servers.Ask(ctx, commands...)
	if err != nil {
		return nil, 0, err
	}
	reads := map[task.Lane]*merge{}
	end = Forever + 1
	for i, result := range results {
		heads, err := result.AsZScores()
		if err != nil {
			return nil, 0, err
		}
		for _, z := range heads {
			lane, err := keyspace.ParseLane(z.Member)
			if err != nil {
				return nil, 0, err
			}
			if !r.Selects(lane) {
				continue
			}
			m := reads[lane]
			if m == nil {
				m = &merge{LaneRead: store.LaneRead{Lane: lane, Until: r.Until, Limit: r.Limit}}
				reads[lane] = m
			}
			st := &strand{read: m, shard: l.shards[i], from: task.Position{Due: max(task.Millis(z.Score), r.From)}, more: true}
			m.strands, strands = append(m.strands, st), append(strands, st)
		}
		if len(heads) == most {
			end = min(end, max(task.Millis(heads[most-1].Score), r.From))
		}
	}
	return strands, end, nil
}

// firstEntries returns the first entries of strands up to until, at most limit.
func firstEntries(strands []*strand, until task.Millis, limit int) (all []task.Entry) {
	for _, st := range strands {
		for _, e := range st.entries {
			if e.Due <= until {
				all = append(all, e)
			}
		}
	}
	slices.SortFunc(all, func(a, b task.Entry) int {
		return cmp.Or(cmp.Compare(a.Due, b.Due), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Lane.Namespace, b.Lane.Namespace))
	})
	return all[:min(len(all), limit)]
}

// unread returns the strands that can have an entry before the last of found, or
// up to until if found is not full: those with the earliest ones.
func unread(strands []*strand, found []task.Entry, until task.Millis, limit int) (open []*strand) {
	if len(found) == limit {
		until = found[limit-1].Due - 1
	}
	for _, st := range strands {
		if st.more && st.next().Due <= until {
			open = append(open, st)
		}
	}
	slices.SortFunc(open, func(a, b *strand) int { return cmp.Compare(a.next().Due, b.next().Due) })
	return open[:min(len(open), maxExtended)]
}
