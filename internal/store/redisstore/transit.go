package redisstore

import (
	"context"
	"errors"
	"sync"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/kernel"
	"github.com/foliot/foliot/internal/store/redisstore/records"
	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
	"github.com/foliot/foliot/internal/task"
)

// Transit implements store.Steps.
func (s *Store) Transit(ctx context.Context, now task.Millis, list []store.Step) ([]store.Reply, error) {
	steps := kernel.Begin[records.Record, extra](list)
	if store.ByDispatch(list) {
		return s.submitByMaster(ctx, now, steps)
	}
	return s.submit(ctx, now, steps)
}

func (s *Store) submit(ctx context.Context, now task.Millis, steps []*step) ([]store.Reply, error) {
	return store.Call(ctx, &s.calls, func() ([]store.Reply, error) {
		m := s.medium(ctx, now)
		if err := kernel.Make(ctx, m, steps); err != nil {
			return nil, err
		}
		for _, st := range steps {
			if m.unconfirmed && st.Kind == store.Change {
				st.Reply.Durability = string(redisconn.Async)
			}
		}
		return kernel.Replies(steps), nil
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
	return kernel.Replies(steps), nil
}
