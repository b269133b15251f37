package redisstore

import (
	"context"
	"slices"
	"time"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/store/redisstore/keyspace"
	"github.com/foliot/foliot/internal/store/redisstore/records"
	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
	"github.com/foliot/foliot/internal/task"
)

// ListEnded implements store.TaskStore. The indexes of ended tasks are in the
// order of the ends of their retention. So it reads those of all shards
// backwards, until all tasks that it has not seen ended before those that it
// has. The reads are not atomic: a task that ends at the same time can be
// missing.
func (s *Store) ListEnded(ctx context.Context, now task.Millis, f task.Filter, limit int) (task.Ended, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return task.Ended{}, err
	}
	defer leave()
	found, err := s.listEnded(ctx, now, &f, limit)
	return found, s.failure(err)
}

func (s *Store) listEnded(ctx context.Context, now task.Millis, f *task.Filter, limit int) (task.Ended, error) {
	w := s.newEndedWalk(now, f)
	latest, seen := task.NewLatest(limit), map[task.Key]struct{}{}
	share := min(limit, 8+2*limit/max(len(w.open), 1))
	for examined := 0; ; share *= 2 {
		bound, more := w.bound()
		switch {
		case !more:
			return latest.Result(false), nil
		case latest.Excludes(bound):
			return latest.Result(true), nil
		case examined >= task.MaxPageExamined:
			found := latest.Result(true)
			found.Since = min(now, bound)
			return found, nil
		}
		keys, read, err := w.next(ctx, s.servers, min(share, (task.MaxPageExamined-examined)/len(w.open)+1))
		if err != nil {
			return task.Ended{}, err
		}
		examined += read
		keys = slices.DeleteFunc(keys, func(key task.Key) bool {
			_, again := seen[key]
			seen[key] = struct{}{}
			return again
		})
		if err := s.addEnded(ctx, now, f, keys, latest); err != nil {
			return task.Ended{}, err
		}
	}
}

// addEnded reads records, and adds those that match to latest.
func (s *Store) addEnded(ctx context.Context, now task.Millis, f *task.Filter, keys []task.Key, latest *task.Latest) error {
	reads := make([]records.Read, len(keys))
	for i, key := range keys {
		reads[i] = records.Read{Key: key}
	}
	got, err := s.records.ReadAll(ctx, reads)
	if err != nil {
		return err
	}
	for _, g := range got {
		if t := g.Task; t != nil && !t.State.Live() && t.KeepUntil > now && f.Match(t) {
			latest.Add(t)
		}
	}
	return nil
}

// endedWalk reads indexes of ended tasks backwards.
type endedWalk struct {
	filter *task.Filter
	now    task.Millis
	open   []*endedIndex // those that can have further entries
}

// endedIndex is the place in one index.
type endedIndex struct {
	key      string
	retained time.Duration
	last     task.Millis // the score of the last entry that was read, or Forever
	same     int         // the entries with that score that were read
}

func (s *Store) newEndedWalk(now task.Millis, f *task.Filter) *endedWalk {
	shortest := s.Settings().ShortestRetention(s.config.Policy, f.Namespace, now)
	w := &endedWalk{filter: f, now: now}
	for _, sh := range s.shards {
		if slices.ContainsFunc(f.States, task.State.Finished) {
			w.open = append(w.open, &endedIndex{key: sh.Gone, retained: shortest.KeepFinished, last: task.Never})
		}
		if slices.Contains(f.States, task.Dead) {
			w.open = append(w.open, &endedIndex{key: sh.Dead, retained: shortest.KeepDead, last: task.Never})
		}
	}
	return w
}

// bound returns the latest end that a task can have that was not read.
func (w *endedWalk) bound() (latest task.Millis, more bool) {
	for _, x := range w.open {
		if end := x.last.Add(-x.retained); !more || end > latest {
			latest, more = end, true
		}
	}
	return latest, more
}

// next reads the next entries of each index. It returns those that the filter
// can select, and the number of entries that it read.
func (w *endedWalk) next(ctx context.Context, servers *redisconn.Servers, share int) (keys []task.Key, read int, err error) {
	commands := make([]redisconn.Command, len(w.open))
	for i, x := range w.open {
		last := "+inf"
		if x.last != task.Never {
			last = redisconn.Score(x.last)
		}
		commands[i] = func(b rueidis.Builder) rueidis.Completed { // a changed index can have other ranks, so the place is a score
			return b.Zrange().Key(x.key).Min(last).Max("("+redisconn.Score(w.now)).Byscore().Rev().Limit(0, int64(share+x.same)).Withscores().Build()
		}
	}
	results, err := servers.Ask(ctx, commands...)
	if err != nil {
		return nil, 0, err
	}
	var open []*endedIndex
	for i, x := range w.open {
		found, err := results[i].AsZScores()
		if err != nil {
			return nil, 0, err
		}
		if len(found) == share+x.same {
			open = append(open, x)
		}
		read += max(0, len(found)-x.same)
		for _, z := range found {
			key, err := keyspace.ParseField(z.Member)
			if err != nil {
				return nil, 0, err
			}
			if key.Namespace == w.filter.Namespace {
				keys = append(keys, key)
			}
		}
		x.moveTo(found)
	}
	w.open = open
	return keys, read, nil
}

// moveTo moves x past entries that were read. The first of them were read before.
func (x *endedIndex) moveTo(found []rueidis.ZScore) {
	n := len(found)
	if n == 0 {
		return
	}
	x.last, x.same = task.Millis(found[n-1].Score), 0
	for _, z := range found {
		if task.Millis(z.Score) == x.last {
			x.same++
		}
	}
}
