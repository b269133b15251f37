package redisstore

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/kernel"
	"github.com/foliot/foliot/internal/store/redisstore/records"
	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/task/recurrence"
)

// Transit implements store.Steps.
func (s *Store) Transit(ctx context.Context, now task.Millis, list []store.Step) ([]store.Reply, error) {
	steps := make([]*step, len(list))
	for i, st := range list {
		steps[i] = &step{Step: st}
	}
	if len(list) > 0 && list[0].Kind != store.Change {
		return s.submitByMaster(ctx, now, steps)
	}
	return s.submit(ctx, now, steps)
}

// submit applies steps and returns their replies.
func (s *Store) submit(ctx context.Context, now task.Millis, steps []*step) ([]store.Reply, error) {
	return call(ctx, s, func() ([]store.Reply, error) {
		r := &request{Store: s, now: now, who: settings.ActorOf(ctx)}
		if err := kernel.Make(ctx, r, steps); err != nil {
			return nil, err
		}
		for _, st := range steps {
			if r.unconfirmed && st.Kind == store.Change {
				st.Reply.Durability = string(redisconn.Async)
			}
		}
		return repliesOf(steps), nil
	})
}

// submitByMaster is submit for each master by itself, so that an unavailable one
// fails only its own steps: their replies have task.ErrUnavailable. The call fails if
// no master could be used.
func (s *Store) submitByMaster(ctx context.Context, now task.Millis, steps []*step) ([]store.Reply, error) {
	parts := map[string][]*step{}
	masters := s.servers.Masters.Load()
	for _, st := range steps {
		addr := masters.Of(s.servers.Slot(s.shard(st.Key)))
		parts[addr] = append(parts[addr], st)
	}
	if len(parts) < 2 {
		return s.submit(ctx, now, steps)
	}
	var mu sync.Mutex
	var all sync.WaitGroup
	var failed, whole error
	away := 0
	for _, part := range parts {
		all.Go(func() {
			_, err := s.submit(ctx, now, part)
			if err == nil {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			if failed, away = err, away+1; !errors.Is(err, task.ErrUnavailable) {
				whole = err
			}
			for _, st := range part {
				if !st.Done {
					st.Answer(task.Result{}, err)
				}
			}
		})
	}
	all.Wait()
	switch {
	case whole != nil:
		return nil, whole
	case away == len(parts):
		return nil, failed
	}
	return repliesOf(steps), nil
}

func repliesOf(steps []*step) []store.Reply {
	replies := make([]store.Reply, len(steps))
	for i, st := range steps {
		replies[i] = st.Reply
	}
	return replies
}

// readRecords reads the records of steps that do not know theirs.
func (s *Store) readRecords(ctx context.Context, steps []*step) error {
	var reads []records.Read
	var of []*step
	for _, st := range steps {
		if st.Unknown() {
			reads, of = append(reads, records.Read{Key: st.Key, Body: st.Kind.NeedsBody()}), append(of, st)
		}
	}
	found, err := s.records.ReadEach(ctx, reads)
	if err != nil {
		return err
	}
	var fires []*step
	for i, st := range of {
		if err := found[i].Err; err != nil { // a damaged record must not block the other records of the call
			st.Answer(task.Result{}, err)
			continue
		}
		st.Found(found[i].Record, found[i].Body)
		if t := st.Old.Task; st.Kind == store.Fire && t != nil {
			st.Old.Task = found[i].WithBody()
			fires = append(fires, st)
		}
	}
	return s.countUnfinished(ctx, fires)
}

// countUnfinished reads how many occurrences are unfinished, for fires whose
// schedules need that number. If another fire creates an occurrence meanwhile, it
// also changes the schedule, and put refuses this fire. An occurrence that was
// requested by hand does not, so it can be missed.
func (s *Store) countUnfinished(ctx context.Context, fires []*step) error {
	fires = slices.DeleteFunc(fires, func(st *step) bool {
		return !st.Old.Task.IsSchedule() || st.Old.Task.Recur.Overlap == recurrence.AllowOverlap
	})
	unfinished, err := redisconn.Read(ctx, s.servers, rueidis.RedisResult.AsInt64, redisconn.EachOf(fires, func(b rueidis.Builder, st *step) rueidis.Completed {
		return b.Hget().Key(s.shard(st.Key).Counts).Field(records.UnfinishedField(st.Key.UnfinishedCounter())).Build()
	})...)
	for i, n := range unfinished {
		fires[i].Own.unfinished = n
	}
	return err
}

// Get implements store.TaskStore.
func (s *Store) Get(ctx context.Context, key task.Key) (*task.Task, error) {
	return call(ctx, s, func() (*task.Task, error) {
		got, err := s.records.ReadAll(ctx, []records.Read{{Key: key, Body: true}})
		switch {
		case err != nil:
			return nil, err
		case got[0].Task == nil:
			return nil, task.ErrNotFound
		}
		return got[0].WithBody(), nil
	})
}
