package pebblestore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/task"
)

// ListEnded implements store.TaskStore. The indexes of ended tasks are in the
// order of the ends of their retention. So ListEnded reads each span backwards.
// It stops when no unread task can have ended later than the tasks that it has
// found.
func (s *Store) ListEnded(ctx context.Context, now task.Millis, f task.Filter, limit int) (task.Ended, error) {
	var found task.Ended
	known := s.settings.Load()
	err := s.read(ctx, "list ended tasks", func() (err error) {
		view := s.db.NewSnapshot()
		defer func() { err = errors.Join(err, view.Close()) }()
		w := endedWalk{view: view, filter: &f}
		defer func() { err = errors.Join(err, w.close()) }()
		if err := w.open(known, s.config.Policy, now, s.latest.Since(now)); err != nil {
			return err
		}
		found, err = w.run(now, limit)
		return err
	})
	if err != nil {
		return task.Ended{}, err
	}
	return found, nil
}

// endedWalk reads indexes of ended tasks backwards.
type endedWalk struct {
	view   *pebble.Snapshot
	filter *task.Filter
	spans  []*endedSpan
}

// open opens the spans of the indexes that have tasks of the filter's states.
func (w *endedWalk) open(known *settings.Settings, base task.Policy, now, latest task.Millis) error {
	for _, one := range []struct {
		prefix string
		dead   bool
		has    func(task.State) bool
	}{
		{donePrefix, false, task.State.Finished},
		{deadPrefix, true, func(s task.State) bool { return s == task.Dead }},
	} {
		if !slices.ContainsFunc(w.filter.States, one.has) {
			continue
		}
		for _, span := range known.EndedSpans(base, w.filter.Namespace, one.dead, now, latest, settings.MaxEndedSpans) {
			x, err := newEndedSpan(w.view, one.prefix, span)
			if err != nil {
				return err
			}
			w.spans = append(w.spans, x)
		}
	}
	return nil
}

func (w *endedWalk) close() (err error) {
	for _, x := range w.spans {
		err = errors.Join(err, x.it.Close())
	}
	return err
}

func (w *endedWalk) run(now task.Millis, limit int) (task.Ended, error) {
	latest := task.NewLatest(limit)
	for examined := 0; ; examined++ {
		x := w.furthest()
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
		t, err := x.take(w.view, w.filter)
		if err != nil {
			return task.Ended{}, err
		}
		if t != nil {
			latest.Add(t)
		}
	}
}

// endedSpan is a part of an index that is read backwards.
type endedSpan struct {
	it    *pebble.Iterator
	space int // the length of the prefix
	keep  time.Duration
	ok    bool
}

func newEndedSpan(view *pebble.Snapshot, prefix string, span settings.EndedSpan) (*endedSpan, error) {
	it, err := view.NewIter(&pebble.IterOptions{
		LowerBound: appendInstant([]byte(prefix), span.After+1),
		UpperBound: appendInstant([]byte(prefix), span.Upto+1),
	})
	if err != nil {
		return nil, err
	}
	return &endedSpan{it: it, space: len(prefix), keep: span.Keep, ok: it.Last()}, nil
}

// furthest returns the span whose next task can have the latest end, or nil if
// no span has more tasks.
func (w *endedWalk) furthest() (first *endedSpan) {
	for _, x := range w.spans {
		if x.ok && (first == nil || x.bound() > first.bound()) {
			first = x
		}
	}
	return first
}

// bound returns the latest end that the next task, and those after it, can have.
func (x *endedSpan) bound() task.Millis { return instant(x.it.Key()[x.space:]).Add(-x.keep) }

// take moves past a task, and returns it if it matches f.
func (x *endedSpan) take(view *pebble.Snapshot, f *task.Filter) (*task.Task, error) {
	t, err := x.read(view, f)
	x.ok = x.it.Prev()
	return t, errors.Join(err, x.it.Error())
}

// read compares f with the index entry first, which costs no read of the record.
func (x *endedSpan) read(view *pebble.Snapshot, f *task.Filter) (*task.Task, error) {
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
