package lanes

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/redisstore/keyspace"
	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
	"github.com/foliot/foliot/internal/task"
)

// Each shard has its own part of a lane. Due reads up to maxCounted of these parts
// in one call. A Redis server runs all commands of one call before those of other
// calls, so this number bounds how long Due delays a claim. Up to maxCalls calls
// are under way at once, because Redis can be far away. If a part has more than
// maxShort tasks, Due does not read all of them: a script on the Redis server counts
// them, which takes less time. One call of scripts is under way at a time.
const maxCounted, maxCalls, maxShort = 8, 4, 64

// laneCount is a lane of one shard that must be counted.
type laneCount struct {
	lane  task.Lane
	shard *keyspace.Shard
	low   task.Millis // a lower bound of its due times
}

// key returns the key of the lane's due index.
func (c laneCount) key() string { return c.shard.Due(keyspace.LaneMember(c.lane)) }

// Due counts the tasks of all shards by due time, as store.TaskStore requires.
//
// A lane of a shard costs a bounded number of counts, for any number of tasks. So
// Due counts the lanes one after the other, the earliest first. When the budget
// ends, the bound of the next lane is the time before which everything was
// counted. The index has the lanes of all namespaces, so reading it is a part of
// the cost.
func (l *Index) Due(ctx context.Context, r store.DueRead, found store.DueFound) (exact task.Millis, err error) {
	open, spent, exact, err := l.dueLanes(ctx, &r)
	if err != nil {
		return 0, err
	}
	for len(open) > 0 {
		part := open[:min(len(open), maxCalls*maxCounted)]
		cost, err := l.count(ctx, &r, part, found)
		if err != nil {
			return 0, fmt.Errorf("count the due index: %w", err)
		}
		open = open[len(part):]
		if spent += cost; spent >= r.Budget && len(open) > 0 {
			return min(exact, open[0].low), nil
		}
	}
	return exact, nil
}

// dueLanes returns the lanes that can have tasks that r selects, the earliest
// first, and the number of lanes that it read, which is about half the budget at
// most. If there are more lanes, exact is before the end of r.
func (l *Index) dueLanes(ctx context.Context, r *store.DueRead) (open []laneCount, read int, exact task.Millis, err error) {
	most := r.Budget/2/len(l.shards) + 1
	results, err := l.servers.Ask(ctx, redisconn.EachOf(l.shards, func(b rueidis.Builder, sh *keyspace.Shard) rueidis.Completed {
		return b.Zrange().Key(sh.Lanes).Min("-inf").Max(redisconn.Score(r.End()-1)).Byscore().Limit(0, int64(most)).Withscores().Build()
	})...)
	if err != nil {
		return nil, 0, 0, fmt.Errorf("read the index of lanes: %w", err)
	}
	exact = r.End()
	for i, result := range results {
		lanes, err := result.AsZScores()
		if err != nil {
			return nil, 0, 0, fmt.Errorf("read the index of lanes: %w", err)
		}
		for _, z := range lanes {
			lane, err := keyspace.ParseLane(z.Member)
			if err != nil {
				return nil, 0, 0, err
			}
			if r.Selects(lane) {
				open = append(open, laneCount{lane, l.shards[i], task.Millis(z.Score)})
			}
		}
		read += len(lanes)
		if n := len(lanes); n == most {
			exact = min(exact, task.Millis(lanes[n-1].Score))
		}
	}
	slices.SortFunc(open, func(a, b laneCount) int { return cmp.Compare(a.low, b.low) })
	return open, read, exact, nil
}

// count counts the tasks of lanes, and returns the number of entries and of counts
// that it read.
func (l *Index) count(ctx context.Context, r *store.DueRead, lanes []laneCount, found store.DueFound) (cost int, err error) {
	results, err := l.firstEntries(ctx, r, lanes)
	if err != nil {
		return 0, err
	}
	var long []laneCount
	for i, result := range results {
		entries, err := result.AsZScores()
		if err != nil {
			return 0, err
		}
		if cost += 1 + len(entries); len(entries) > maxShort {
			long = append(long, lanes[i])
			continue
		}
		for _, e := range entries {
			found(lanes[i].lane, r.Interval(task.Millis(e.Score)), 1)
		}
	}
	cost += len(long) * len(r.Bounds)
	for part := range slices.Chunk(long, maxCounted) {
		if err := l.countLong(ctx, r, part, found); err != nil {
			return 0, err
		}
	}
	return cost, nil
}

// firstEntries reads the first maxShort+1 entries of each lane.
func (l *Index) firstEntries(ctx context.Context, r *store.DueRead, lanes []laneCount) ([]rueidis.RedisResult, error) {
	var calls [maxCalls]struct {
		results []rueidis.RedisResult
		err     error
	}
	var under sync.WaitGroup
	n := 0
	for part := range slices.Chunk(lanes, maxCounted) {
		call := &calls[n]
		n++
		commands := make([]redisconn.Command, len(part))
		for i, c := range part {
			commands[i] = func(b rueidis.Builder) rueidis.Completed {
				return b.Zrange().Key(c.key()).Min("-inf").Max(redisconn.Score(r.End()-1)).Byscore().Limit(0, maxShort+1).Withscores().Build()
			}
		}
		under.Go(func() { call.results, call.err = l.servers.Ask(ctx, commands...) })
	}
	under.Wait()
	results := make([]rueidis.RedisResult, 0, len(lanes))
	for _, call := range calls[:n] {
		if call.err != nil {
			return nil, call.err
		}
		results = append(results, call.results...)
	}
	return results, nil
}

// countLong counts the tasks of lanes that have many.
func (l *Index) countLong(ctx context.Context, r *store.DueRead, lanes []laneCount, found store.DueFound) error {
	bounds := make([]string, len(r.Bounds))
	for i, b := range r.Bounds {
		bounds[i] = redisconn.Score(b)
	}
	runs := make([]redisconn.Run, len(lanes))
	for i, c := range lanes {
		runs[i] = redisconn.Run{Keys: []string{c.key()}, Args: bounds}
	}
	results, err := l.servers.Repeat(ctx, counting, runs...)
	if err != nil {
		return err
	}
	for i, result := range results {
		counts, err := result.AsIntSlice()
		if err != nil {
			return err
		}
		for n := 0; n+1 < len(counts); n += 2 {
			found(lanes[i].lane, int(counts[n]), int(counts[n+1]))
		}
	}
	return nil
}
