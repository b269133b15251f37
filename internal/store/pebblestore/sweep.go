package pebblestore

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/kernel"
	"github.com/foliot/foliot/internal/task"
)

// sweep removes records after their retention has ended, in a new batch, so that the
// database shows the steps before. It reads only index entries, which contain all that
// is needed, and removes a series of them as one range, because the next sweep then
// meets one tombstone instead of thousands.
func (c *committer) sweep(r *request) error {
	if err := c.commit(); err != nil {
		return err
	}
	var err error
	if r.swept, err = c.sweepTasks(r); err != nil {
		return err
	}
	n, err := c.sweepLog(r, r.sweep-r.swept)
	if err != nil {
		return err
	}
	r.swept += n
	c.filling.steps += r.swept
	return nil
}

func (c *committer) sweepTasks(r *request) (n int, err error) {
	space := []byte(keepPrefix)
	end := append(appendInstant(bytes.Clone(space), r.now), 0xff) // no namespace begins with 0xff
	var first, last []byte
	_, err = each(c.db, space, end, func(entry, value []byte) (bool, error) {
		key, err := parseName(entry[len(space)+instantLen:])
		if err != nil {
			return false, err
		}
		k, err := parseEndedEntry(value)
		if err != nil {
			return false, fmt.Errorf("entry %q: %w", entry, err)
		}
		if n == 0 {
			first = bytes.Clone(entry)
		}
		last = append(last[:0], entry...)
		n++
		return n < r.sweep, c.remove(r, key, k)
	})
	if n > 0 && err == nil {
		err = c.open().DeleteRange(first, append(last, 0), nil)
	}
	return n, err
}

// remove removes a task, except for its entry by the end of its retention.
func (c *committer) remove(r *request, key task.Key, k endedEntry) error {
	b := c.open()
	c.note(r, key, nil, nil, true)
	c.cache.drop(key)
	old := k.task(key)
	c.counters.move(old, nil)
	c.recount.move(key, old, nil)
	err := c.putKeyOwner(b, key.Namespace, k.digest, "")
	for _, prefix := range []string{taskPrefix, bodyPrefix} {
		c.oldKey = appendTaskKey(c.oldKey[:0], prefix, key)
		err = errors.Join(err, b.Delete(c.oldKey, nil))
	}
	for _, e := range kernel.EntriesOf(old) {
		if e.Index != kernel.ByRetention {
			c.oldKey = appendEntryKey(c.oldKey[:0], old, e)
			err = errors.Join(err, b.Delete(c.oldKey, nil))
		}
	}
	return err
}

// reap takes back at most limit leases that ended at or before until, and returns the
// tasks after that.
func (s *Store) reap(ctx context.Context, now, until task.Millis, how kernel.Reap, limit int) ([]*task.Task, error) {
	var steps []store.Step
	err := s.locked("read the leases", func() error {
		_, err := each(s.db, []byte(runPrefix), prefixEnd([]byte(runPrefix)), func(entry, value []byte) (bool, error) {
			if len(value) != instantLen {
				return false, errors.Join(errDamaged, errors.New("the end of a lease"))
			}
			if instant(value) > until {
				return true, nil
			}
			key, err := parseName(entry[len(runPrefix):])
			steps = append(steps, store.Step{Key: key, Transition: how, Kind: store.Reaping})
			return len(steps) < limit, err
		})
		return err
	})
	if err != nil || len(steps) == 0 {
		return nil, err
	}
	replies, err := s.submit(ctx, &request{now: now, steps: steps, urgent: true})
	if err != nil {
		return nil, err
	}
	var left []*task.Task
	for _, r := range replies {
		if r.Err == nil {
			left = append(left, r.Task)
		}
	}
	return left, nil
}
