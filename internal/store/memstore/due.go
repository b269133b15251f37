package memstore

import (
	"context"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// Due counts scheduled tasks by their due times, and ignores the budget.
func (s *Store) Due(ctx context.Context, r store.DueRead, found store.DueFound) (task.Millis, error) {
	if err := s.enter(ctx); err != nil {
		return 0, err
	}
	defer s.leave()
	for _, t := range s.records {
		if l := t.Lane(); t.State == task.Scheduled && t.Due < r.End() && r.Selects(l) {
			found(l, r.Interval(t.Due), 1)
		}
	}
	return r.End(), nil
}
