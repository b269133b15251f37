package redisstore

import (
	"context"
	"math"
	"slices"
	"strings"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/kernel"
	"github.com/foliot/foliot/internal/store/redisstore/keyspace"
	"github.com/foliot/foliot/internal/store/redisstore/lanes"
	"github.com/foliot/foliot/internal/store/redisstore/records"
	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
	"github.com/foliot/foliot/internal/task"
)

// query implements kernel.Reader with the shards of all nodes as parts. It reads only
// the servers, because a node has low-water marks of its own shards alone.
type query struct{ *Store }

func (q query) Parts() int { return len(q.shards) }

func (q query) Batch() int { return 128 }

func (q query) Scan(ctx context.Context, ranges []kernel.Range) ([][]string, error) {
	if ranges[0].Index == kernel.ByDue {
		return kernel.ScanLanes(ctx, ranges, lanes.Forever, q.lanes.Read)
	}
	all, err := redisconn.Read(ctx, q.servers, rueidis.RedisResult.AsStrSlice, redisconn.EachOf(ranges, func(b rueidis.Builder, r kernel.Range) rueidis.Completed {
		key, last := q.shards[r.Part].Names, "("+r.Lane.Namespace+"0" // '0' follows '/'
		if r.Index != kernel.ByName {
			key = records.EndKey(q.shards[r.Part], r.Index)
		}
		if r.To != "" {
			last = "(" + r.Lane.Namespace + "/" + r.To
		}
		return b.Zrangebylex().Key(key).Min("["+r.Lane.Namespace+"/"+r.From).Max(last).Limit(0, int64(r.Limit)).Build()
	})...)
	for i, members := range all {
		for n, m := range members {
			members[n] = strings.TrimPrefix(m, ranges[i].Lane.Namespace+"/")
		}
	}
	return all, err
}

// Records implements kernel.Reader.
func (q query) Records(ctx context.Context, keys []task.Key, f *task.Filter, bodies bool) ([]*task.Task, error) {
	return kernel.ReadTasks(ctx, keys, f, bodies, q.tasks)
}

// tasks returns tasks, nil if they do not exist, with their bodies if bodies is true.
func (s *Store) tasks(ctx context.Context, keys []task.Key, bodies bool) ([]*task.Task, error) {
	reads := make([]records.Read, len(keys))
	for i, key := range keys {
		reads[i] = records.Read{Key: key, Body: bodies}
	}
	got, err := s.records.ReadAll(ctx, reads)
	all := make([]*task.Task, len(got))
	for i, g := range got {
		if all[i] = g.Task; bodies && g.Task != nil {
			all[i] = g.WithBody()
		}
	}
	return all, err
}

func (q query) Lanes(ctx context.Context, r kernel.LaneRead) (kernel.Lanes, error) {
	most := r.Limit*7/6/len(q.shards) + 1 // more than an even part, because lanes are spread at random
	found, err := redisconn.Read(ctx, q.servers, rueidis.RedisResult.AsZScores, redisconn.EachOf(q.shards, func(b rueidis.Builder, sh *keyspace.Shard) rueidis.Completed {
		return b.Zrange().Key(sh.Lanes).Min("-inf").Max(redisconn.Score(r.Until)).Byscore().Limit(0, int64(most)).Withscores().Build()
	})...)
	all := kernel.Lanes{End: math.MaxInt64}
	for i, bounds := range found {
		for _, z := range bounds {
			lane, err := keyspace.ParseLane(z.Member)
			if err != nil {
				return kernel.Lanes{}, err
			}
			if r.Selects(lane) {
				all.Heads = append(all.Heads, kernel.Head{Lane: lane, Part: i, Low: task.Position{Due: task.Millis(z.Score)}})
			}
		}
		if n := len(bounds); n == most {
			all.End = min(all.End, task.Millis(bounds[n-1].Score))
		}
		all.Examined += len(bounds)
	}
	return all, err
}

// Count reads maxRead lanes in a call, and counts maxCounted lanes in a call. A Redis
// server runs all commands of one call before those of other calls, so these numbers
// bound how long a count delays a claim. A script counts the tasks of a lane with more
// than maxShort, because that is faster than to read them.
const maxRead, maxCounted, maxShort = 32, 8, 64

var counting = redisconn.NewScript(sources, redisconn.Reads, "due")

func (q query) Count(ctx context.Context, ranges []kernel.Range, r *store.DueRead, found store.DueFound) (costs []kernel.Counted, err error) {
	var long []kernel.Range
	for some := range slices.Chunk(ranges, maxRead) {
		first, err := redisconn.Read(ctx, q.servers, rueidis.RedisResult.AsZScores, redisconn.EachOf(some, func(b rueidis.Builder, one kernel.Range) rueidis.Completed {
			return b.Zrange().Key(q.dueKey(one)).Min("-inf").Max(redisconn.Score(r.End()-1)).Byscore().Limit(0, maxShort+1).Withscores().Build()
		})...)
		if err != nil {
			return nil, err
		}
		for i, list := range first {
			cost := 2 + len(list)
			if len(list) > maxShort {
				cost, list, long = cost+len(r.Bounds), nil, append(long, some[i])
			}
			for _, z := range list {
				found(some[i].Lane, r.Interval(task.Millis(z.Score)), 1)
			}
			costs = append(costs, kernel.Counted{Cost: cost})
		}
	}
	for part := range slices.Chunk(long, maxCounted) {
		if err := q.countLong(ctx, part, r, found); err != nil {
			return nil, err
		}
	}
	return costs, nil
}

func (q query) dueKey(r kernel.Range) string {
	return q.shards[r.Part].Due(keyspace.LaneMember(r.Lane))
}

// countLong counts the tasks of lanes that have many.
func (q query) countLong(ctx context.Context, ranges []kernel.Range, r *store.DueRead, found store.DueFound) error {
	bounds := make([]string, len(r.Bounds))
	for i, b := range r.Bounds {
		bounds[i] = redisconn.Score(b)
	}
	runs := make([]redisconn.Run, len(ranges))
	for i, one := range ranges {
		runs[i] = redisconn.Run{Keys: []string{q.dueKey(one)}, Args: bounds}
	}
	all, err := redisconn.ReadRuns(ctx, q.servers, rueidis.RedisResult.AsIntSlice, counting, runs...)
	for i, counts := range all {
		for n := 0; n+1 < len(counts); n += 2 {
			found(ranges[i].Lane, int(counts[n]), int(counts[n+1]))
		}
	}
	return err
}
