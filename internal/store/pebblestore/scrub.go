package pebblestore

import (
	"context"

	"github.com/foliot/foliot/internal/task"
)

// Scrub implements task.Scrubber.
func (s *Store) Scrub(ctx context.Context, now task.Millis, cursor string, limit int) (task.Scrubbed, error) {
	return task.Scrubbed{}, nil
}
