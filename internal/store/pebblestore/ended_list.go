package pebblestore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/foliot/foliot/internal/task"
)

// ListEnded implements store.TaskStore. The indexes of ended tasks are in the
// order of the ends of their retention. So it reads them backwards, until all
// tasks that it has not seen ended before those that it has.
func (s *Store) ListEnded(ctx context.Context, now task.Millis, f task.Filter, limit int) (task.Ended, error) {
	var found task.Ended
	shortest := s.settings.Load().ShortestRetention(s.config.Policy, f.Namespace, now)
	err := s.read(ctx, "list ended tasks", func() (err error) {
		view := s.db.NewSnapshot()
		defer func() { err = errors.Join(err, view.Close()) }()
		found, err = listEnded(view, now, &f, limit, shortest)
		return err
	})
	if err != nil {
		return task.Ended{}, err
	}
	return found, nil
}

func listEnded(view *pebble.Snapshot, now task.Millis, f *task.Filter, limit int, shortest task.Policy) (found task.Ended, err error) {
	var indexes []*endedIndex
	defer func() {
		for _, x := range indexes {
			err = errors.Join(err, x.it.Close())
		}
	}()
	for _, one := range []struct {
		prefix   string
		has      func(task.State) bool
		retained time.Duration
	}{
		{donePrefix, task.State.Finished, shortest.KeepFinished},
		{deadPrefix, func(s task.State) bool { return s == task.Dead }, shortest.KeepDead},
	} {
		if !slices.ContainsFunc(f.States, one.has) {
			continue
		}
		x, err := newEndedIndex(view, one.prefix, now, one.retained)
		if err != nil {
			return task.Ended{}, err
		}
		indexes = append(indexes, x)
	}
	latest := task.NewLatest(limit)
	for examined := 0; ; examined++ {
		x := furthest(indexes)
		switch {
		case x == nil:
			return latest.Result(false), nil
		case latest.Excludes(x.bound()):
			return latest.Result(true), nil
		case examined == task.MaxPageExamined:
			found := latest.Result(true)
			found.Since = min(now, x.bound())
			return found, nil
		}
		t, err := x.take(view, f)
		if err != nil {
			return task.Ended{}, err
		}
		if t != nil {
			latest.Add(t)
		}
	}
}

// endedIndex is an index of ended tasks that is read backwards.
type endedIndex struct {
	it       *pebble.Iterator
	space    int // the length of the prefix
	retained time.Duration
	ok       bool
}

func newEndedIndex(view *pebble.Snapshot, prefix string, now task.Millis, retained time.Duration) (*endedIndex, error) {
	it, err := view.NewIter(&pebble.IterOptions{LowerBound: appendInstant([]byte(prefix), now+1), UpperBound: prefixEnd([]byte(prefix))})
	if err != nil {
		return nil, err
	}
	return &endedIndex{it: it, space: len(prefix), retained: retained, ok: it.Last()}, nil
}

// furthest returns the index whose next task can have the latest end, or nil if
// no index has more tasks.
func furthest(indexes []*endedIndex) (first *endedIndex) {
	for _, x := range indexes {
		if x.ok && (first == nil || x.bound() > first.bound()) {
			first = x
		}
	}
	return first
}

// bound returns the latest end that the next task, and those after it, can have.
func (x *endedIndex) bound() task.Millis { return instant(x.it.Key()[x.space:]).Add(-x.retained) }

// take moves past a task, and returns it if it matches f.
func (x *endedIndex) take(view *pebble.Snapshot, f *task.Filter) (*task.Task, error) {
	t, err := x.read(view, f)
	x.ok = x.it.Prev()
	return t, errors.Join(err, x.it.Error())
}

// read compares f with the index entry first, which costs no read of the record.
func (x *endedIndex) read(view *pebble.Snapshot, f *task.Filter) (*task.Task, error) {
	name := x.it.Key()[x.space+instantLen:]
	if !bytes.HasPrefix(name, append([]byte(f.Namespace), 0)) {
		return nil, nil
	}
	key, err := parseName(name)
	if err != nil {
		return nil, err
	}
	value, err := x.it.ValueAndErr()
	if err != nil {
		return nil, err
	}
	entry, err := parseEndedEntry(value)
	if err != nil {
		return nil, fmt.Errorf("entry %q: %w", x.it.Key(), err)
	}
	inEntry := task.Filter{Queue: f.Queue, States: f.States, Prefix: f.Prefix, Schedule: f.Schedule}
	if !inEntry.Match(entry.task(key)) {
		return nil, nil
	}
	t, err := getRecord(view, key)
	if err != nil || t == nil || !f.Match(t) { // a scrub repairs an entry without a record
		return nil, err
	}
	return t.WithoutBody(), nil
}
