package memstore

import (
	"context"
	"slices"

	"github.com/foliot/foliot/internal/history"
	"github.com/foliot/foliot/internal/task"
)

// Remember implements history.Store.
func (s *Store) Remember(ctx context.Context, now task.Millis, parts []history.Part) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	for _, p := range parts {
		s.past = slices.DeleteFunc(s.past, func(old history.Part) bool {
			return old.At < history.Expired(old.Hour, now) || old.At == p.At && old.Hour == p.Hour && old.Writer == p.Writer
		})
		s.past = append(s.past, p)
	}
	return nil
}

// History implements history.Store.
func (s *Store) History(ctx context.Context, hours bool, from, until task.Millis) (found []history.Part, err error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.leave()
	for _, p := range s.past {
		if p.Hour == hours && from <= p.At && p.At < until {
			found = append(found, p)
		}
	}
	return found, nil
}
