package pebblestore

import (
	"context"
	"errors"

	"github.com/foliot/foliot/internal/history"
	"github.com/foliot/foliot/internal/task"
)

// Remember implements history.Store.
func (s *Store) Remember(ctx context.Context, now task.Millis, parts []history.Part) error {
	if len(parts) == 0 {
		return ctx.Err()
	}
	_, err := s.submit(ctx, &request{now: now, past: parts})
	return err
}

// remember writes parts without a sync.
func (c *committer) remember(r *request) (err error) {
	b := c.open()
	for _, p := range r.past {
		err = errors.Join(err, b.Set(append(appendPast(p.Hour, p.At), p.Writer...), p.Data, nil))
	}
	for _, hours := range []bool{false, true} {
		if r.past[0].Hour {
			err = errors.Join(err, b.DeleteRange(appendPast(hours, 0), appendPast(hours, history.Expired(hours, r.now)), nil))
		}
	}
	return err
}

func appendPast(hours bool, at task.Millis) []byte {
	kind := "m"
	if hours {
		kind = "h"
	}
	return appendInstant([]byte(pastPrefix+kind), at)
}

// History implements history.Store.
func (s *Store) History(ctx context.Context, hours bool, from, until task.Millis) (found []history.Part, err error) {
	lower := appendPast(hours, from)
	at := len(lower) - instantLen
	err = s.read(ctx, "read the history", func() error {
		_, err := each(s.db, lower, appendPast(hours, until), func(key, value []byte) (bool, error) {
			found = append(found, history.Part{Hour: hours, At: instant(key[at:]), Writer: string(key[at+instantLen:]), Data: append([]byte(nil), value...)})
			return true, nil
		})
		return err
	})
	return found, err
}
