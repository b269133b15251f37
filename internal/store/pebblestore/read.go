package pebblestore

import (
	"context"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/foliot/foliot/internal/store/codec"
	"github.com/foliot/foliot/internal/task"
)

// Get implements store.TaskStore.
func (s *Store) Get(ctx context.Context, key task.Key) (*task.Task, error) {
	var t *task.Task
	err := s.read(ctx, "read a task", func() (err error) {
		view := s.db.NewSnapshot() // record and body of the same moment
		defer func() { err = errors.Join(err, view.Close()) }()
		if t, err = getRecord(view, key); err != nil || t == nil {
			return err
		}
		if apart(t) {
			t.Request.Body, err = getBody(view, t)
		}
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case t == nil:
		return nil, task.ErrNotFound
	}
	return t, nil
}

// apart reports whether t, as it was decoded, has a body that is not in its
// record.
func apart(t *task.Task) bool { return t.Request.BodySize > len(t.Request.Body) }

// getRecord returns nil if there is no record.
func getRecord(from pebble.Reader, key task.Key) (*task.Task, error) {
	return getRecordAt(from, key, appendTaskKey(nil, taskPrefix, key))
}

// getRecordAt is getRecord for a key that is encoded already.
func getRecordAt(from pebble.Reader, key task.Key, encoded []byte) (*task.Task, error) {
	value, closer, err := from.Get(encoded)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer closer.Close()
	return codec.DecodeRecord(key, value)
}

// storedTask returns the task with the record value, whose key begins with
// taskPrefix.
func storedTask(key, value []byte) (*task.Task, error) {
	name, err := parseName(key[len(taskPrefix):])
	if err != nil {
		return nil, err
	}
	return codec.DecodeRecord(name, value)
}

// getBody returns a copy of t's body, which is apart from the record.
func getBody(from pebble.Reader, t *task.Task) ([]byte, error) {
	value, err := getValue(from, appendTaskKey(nil, bodyPrefix, t.Key()))
	if err != nil {
		return nil, err
	}
	body, err := codec.Unwrap(value)
	if err == nil && len(body) != t.Request.BodySize {
		err = errDamaged
	}
	if err != nil {
		return nil, fmt.Errorf("body of task %q in namespace %q: %w", t.Name, t.Namespace, err)
	}
	return body, nil
}

// checkBody checks that the body of t is stored, and has the right length.
func checkBody(from pebble.Reader, t *task.Task) error {
	if apart(t) {
		_, err := getBody(from, t)
		return err
	}
	if len(t.Request.Body) != t.Request.BodySize {
		return fmt.Errorf("body of task %q in namespace %q: %w", t.Name, t.Namespace, errDamaged)
	}
	return nil
}

// each calls use for each key from lower until before upper, in their order, until use
// returns false or an error. It reports whether it reached the end.
func each(from pebble.Reader, lower, upper []byte, use func(key, value []byte) (more bool, err error)) (whole bool, err error) {
	it, err := from.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for ok := it.First(); ok; ok = it.Next() {
		value, err := it.ValueAndErr()
		if err != nil {
			return false, err
		}
		if more, err := use(it.Key(), value); !more || err != nil {
			return false, err
		}
	}
	return true, it.Error()
}

// eachIn calls use for each key that begins with prefix.
func eachIn(from pebble.Reader, prefix string, use func(key, value []byte) error) error {
	_, err := each(from, []byte(prefix), prefixEnd([]byte(prefix)), func(key, value []byte) (bool, error) { return true, use(key, value) })
	return err
}
