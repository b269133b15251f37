package kernel

import (
	"context"
	"math"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// Queries are the queries of a store.TaskStore that several nodes share.
type Queries struct {
	Calls  *store.Calls
	Reader Reader
	Read   func(ctx context.Context, keys []task.Key, bodies bool) ([]*task.Task, error) // returns tasks, nil if they do not exist
}

// Get implements store.TaskStore.
func (q *Queries) Get(ctx context.Context, key task.Key) (*task.Task, error) {
	return store.Call(ctx, q.Calls, func() (*task.Task, error) {
		all, err := q.Read(ctx, []task.Key{key}, true)
		switch {
		case err != nil:
			return nil, err
		case all[0] == nil:
			return nil, task.ErrNotFound
		}
		return all[0], nil
	})
}

// List implements store.TaskStore.
func (q *Queries) List(ctx context.Context, f task.Filter, page task.Page) (task.Listing, error) {
	return store.Call(ctx, q.Calls, func() (task.Listing, error) { return List(ctx, q.Reader, f, page) })
}

// Upcoming implements store.TaskStore.
func (q *Queries) Upcoming(ctx context.Context, r store.UpcomingRead) (task.Upcoming, error) {
	return store.Call(ctx, q.Calls, func() (task.Upcoming, error) { return Upcoming(ctx, q.Reader, r) })
}

// Due implements store.TaskStore.
func (q *Queries) Due(ctx context.Context, r store.DueRead, found store.DueFound) (task.Millis, error) {
	return store.Call(ctx, q.Calls, func() (task.Millis, error) { return Due(ctx, q.Reader, r, math.MaxInt64, found) })
}
