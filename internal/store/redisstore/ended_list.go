package redisstore

import (
	"cmp"
	"context"
	"slices"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store/redisstore/keyspace"
	"github.com/foliot/foliot/internal/store/redisstore/records"
	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
	"github.com/foliot/foliot/internal/task"
)

// ListEnded implements store.TaskStore. The indexes of ended tasks are in the
// order of the ends of their retention. So ListEnded reads each span of all
// shards backwards. It stops when no unread task can have ended later than the
// tasks that it has found. The reads are not atomic: a task that ends at the same
// time can be missing.
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
		part := w.open
		if examined > 0 {
			part = w.furthest(latest)
		}
		keys, read, err := w.next(ctx, s.servers, part, min(share, (task.MaxPageExamined-examined)/len(part)+1))
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
	open   []*endedSpan // those that can have further entries
}

// endedSpan is the place in a part of one index.
type endedSpan struct {
	settings.EndedSpan // Upto is the score of the last entry that was read, if any

	key  string
	same int  // the entries with the score Upto that were read
	ends bool // no further entries
}

func (s *Store) newEndedWalk(now task.Millis, f *task.Filter) *endedWalk {
	w, latest := &endedWalk{filter: f}, s.latest.Since(now)
	most := max(1, min(settings.MaxEndedSpans, 1024/len(s.shards))) // each span is a read of each shard
	add := func(dead bool, key func(*keyspace.Shard) string) {
		for _, span := range s.Settings().EndedSpans(s.config.Policy, f.Namespace, dead, now, latest, most) {
			for _, sh := range s.shards {
				w.open = append(w.open, &endedSpan{EndedSpan: span, key: key(sh)})
			}
		}
	}
	if slices.ContainsFunc(f.States, task.State.Finished) {
		add(false, func(sh *keyspace.Shard) string { return sh.Gone })
	}
	if slices.Contains(f.States, task.Dead) {
		add(true, func(sh *keyspace.Shard) string { return sh.Dead })
	}
	return w
}

// bound returns the latest end that an unread task of the span can have.
func (x *endedSpan) bound() task.Millis { return x.Upto.Add(-x.Keep) }

// bound returns the latest end that any unread task can have.
func (w *endedWalk) bound() (latest task.Millis, more bool) {
	for _, x := range w.open {
		if end := x.bound(); !more || end > latest {
			latest, more = end, true
		}
	}
	return latest, more
}

// furthest returns the half of the spans whose next tasks can have the latest
// ends, without those that latest excludes. So the spans reach about the same
// time.
func (w *endedWalk) furthest(latest *task.Latest) []*endedSpan {
	slices.SortStableFunc(w.open, func(a, b *endedSpan) int { return cmp.Compare(b.bound(), a.bound()) })
	half := w.open[:(len(w.open)+1)/2]
	for latest.Excludes(half[len(half)-1].bound()) {
		half = half[:len(half)-1]
	}
	return half
}

// next reads the next entries of each of the spans. It returns those that the
// filter can select, and the number of entries that it read.
func (w *endedWalk) next(ctx context.Context, servers *redisconn.Servers, spans []*endedSpan, share int) (keys []task.Key, read int, err error) {
	commands := make([]redisconn.Command, len(spans))
	for i, x := range spans {
		commands[i] = func(b rueidis.Builder) rueidis.Completed { // a changed index can have other ranks, so the place is a score
			return b.Zrange().Key(x.key).Min(redisconn.Score(x.Upto)).Max("("+redisconn.Score(x.After)).Byscore().Rev().Limit(0, int64(share+x.same)).Withscores().Build()
		}
	}
	results, err := servers.Ask(ctx, commands...)
	if err != nil {
		return nil, 0, err
	}
	for i, x := range spans {
		found, err := results[i].AsZScores()
		if err != nil {
			return nil, 0, err
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
		x.ends = len(found) < share+x.same
		x.moveTo(found)
	}
	w.open = slices.DeleteFunc(w.open, func(x *endedSpan) bool { return x.ends })
	return keys, read, nil
}

// moveTo moves x past entries that were read. The first of them were read before.
func (x *endedSpan) moveTo(found []rueidis.ZScore) {
	n := len(found)
	if n == 0 {
		return
	}
	x.Upto, x.same = task.Millis(found[n-1].Score), 0
	for _, z := range found {
		if task.Millis(z.Score) == x.Upto {
			x.same++
		}
	}
}
