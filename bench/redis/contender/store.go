package contender

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/redisstore"
	"github.com/foliot/foliot/internal/task"
)

func openStore(ctx context.Context, redis string, _ *Environment) (*Running, error) {
	s, err := redisstore.Open(ctx, redisstore.Config{Client: rueidis.ClientOption{InitAddress: []string{redis}, DisableCache: true, ForceSingleClient: true}})
	if err != nil {
		return nil, err
	}
	create := func(ctx context.Context, w *Work, from, to int) error { return createInStore(ctx, s, w, from, to) }
	return &Running{Create: create, Close: s.Close}, nil
}

func createInStore(ctx context.Context, s *redisstore.Store, w *Work, from, to int) error {
	now := task.CeilMillis(time.Now())
	body := []byte(w.Body())
	changes := make([]task.Change, 0, to-from)
	for i := from; i < to; i++ {
		spec := task.DefaultSpec()
		spec.Name, spec.ID = w.Name(i), strconv.Itoa(i)
		spec.When, spec.Request.URL, spec.Request.Body = task.When{At: task.CeilMillis(w.Due(i))}, w.Target(i), body
		if err := spec.Validate(now); err != nil {
			return err
		}
		changes = append(changes, task.Create{Spec: spec})
	}
	replies, err := s.Transit(ctx, now, store.Changes(changes))
	if err != nil {
		return err
	}
	for i, r := range replies {
		if r.Err != nil {
			return fmt.Errorf("create %s: %w", w.Name(from+i), r.Err)
		}
	}
	return nil
}
