package memstore

import (
	"context"
	"maps"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// lease is the lease of a running task, until an extension makes it another one.
type lease struct {
	key   task.Key
	token task.Token
	until task.Millis
}

func leaseOf(t *task.Task) (l lease, running bool) {
	if t == nil || t.State != task.Running {
		return l, false
	}
	return lease{t.Key(), t.Lease.Token, t.Lease.Until}, true
}

// Scrub looks only for lost leases, because the store has no index that could
// be wrong. The cursor is the last name examined, with its namespace.
func (s *Store) Scrub(ctx context.Context, now task.Millis, cursor string, limit int) (store.Scrubbed, error) {
	if err := s.enter(ctx); err != nil {
		return store.Scrubbed{}, err
	}
	defer s.leave()
	place := func(t *task.Task) string { return t.Name + "\x00" + t.Namespace }
	var done store.Scrubbed
	for _, t := range s.sortedLocked(func(t *task.Task) bool { return place(t) > cursor }, func(*task.Task) task.Millis { return 0 }) {
		if done.Examined == max(limit, 1) {
			return done, nil
		}
		done.Examined++
		done.Next = place(t)
		if s.abandonedLocked(now, t) {
			s.reapLocked(now, t, false)
			done.Repairs = append(done.Repairs, store.Repair{Key: t.Key(), Found: store.FoundAbandoned})
		}
	}
	done.Next = ""
	maps.DeleteFunc(s.endedLeases, func(l lease, _ task.Millis) bool {
		present, running := leaseOf(s.records[l.key])
		return !running || present != l || l.until > now
	})
	return done, nil
}

// abandonedLocked reports whether t's lease has ended and has not been extended
// for store.AbandonedAfter since a scrub first saw that. One scrub is not
// enough, because every lease looks ended after the clock was set ahead.
func (s *Store) abandonedLocked(now task.Millis, t *task.Task) bool {
	l, running := leaseOf(t)
	if !running || l.until > now {
		return false
	}
	seen, again := s.endedLeases[l]
	if !again {
		seen = now
		s.endedLeases[l] = now
	}
	return now.Sub(seen) >= store.AbandonedAfter
}
