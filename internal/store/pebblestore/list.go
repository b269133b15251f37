package pebblestore

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/foliot/foliot/internal/store/codec"
	"github.com/foliot/foliot/internal/store/kernel"
	"github.com/foliot/foliot/internal/task"
)

// List implements store.TaskStore. By end it merges the indexes by end.
func (s *Store) List(ctx context.Context, f task.Filter, page task.Page) (task.Listing, error) {
	if page.ByEnd == 0 {
		return s.list(ctx, "list tasks", &lister{filter: &f, page: page, spaces: []string{taskPrefix}})
	}
	l := &lister{filter: &f, page: page, ended: true, now: page.ByEnd}
	for _, in := range kernel.EndIndexes(f.States) {
		l.spaces = append(l.spaces, endPrefix[in])
	}
	return s.list(ctx, "list ended tasks", l)
}

func (s *Store) list(ctx context.Context, what string, l *lister) (task.Listing, error) {
	err := s.read(ctx, what, func() (err error) {
		l.view = s.db.NewSnapshot()
		defer func() { err = errors.Join(err, l.close()) }()
		return l.run()
	})
	if err != nil {
		return task.Listing{}, err
	}
	return l.listing, nil
}

// lister lists one page. It merges key spaces in which a namespace and a zero
// byte come before the place in the list.
type lister struct {
	filter *task.Filter
	page   task.Page
	spaces []string
	ended  bool        // the spaces are indexes by end, not the records
	now    task.Millis // if ended is set

	view    *pebble.Snapshot
	its     []*pebble.Iterator
	key     []byte // for the key of a record
	listing task.Listing
	weight  int
}

func (l *lister) open() error {
	for _, prefix := range l.spaces {
		space := appendTaskKey(nil, prefix, task.Key{Namespace: l.filter.Namespace})
		lower := space
		if l.page.After != "" {
			lower = append(append(bytes.Clone(space), l.page.After...), 0)
		}
		upper := prefixEnd(space)
		if l.page.Before != "" {
			upper = append(bytes.Clone(space), l.page.Before...)
		}
		it, err := l.view.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
		if err != nil {
			return err
		}
		it.First()
		l.its = append(l.its, it)
	}
	return nil
}

// close returns errors of the iterators too.
func (l *lister) close() (err error) {
	for _, it := range l.its {
		err = errors.Join(err, it.Close())
	}
	return errors.Join(err, l.view.Close())
}

func (l *lister) run() error {
	if err := l.open(); err != nil {
		return err
	}
	var last []byte // the last place that was examined
	for examined := 0; ; examined++ {
		it, place := l.first()
		if it == nil {
			return nil
		}
		if len(l.listing.Tasks) >= l.page.Limit || examined >= task.MaxPageExamined || l.weight >= task.MaxPageBytes {
			l.listing.Next = string(last)
			return nil
		}
		last = append(last[:0], place...)
		if err := l.examine(it, last); err != nil {
			return err
		}
		it.Next()
	}
}

// first returns the iterator with the first place, and that place. It returns nil
// if all are at the end.
func (l *lister) first() (first *pebble.Iterator, place []byte) {
	for _, it := range l.its {
		if !it.Valid() {
			continue
		}
		if _, p, _ := bytes.Cut(it.Key(), []byte{0}); first == nil || bytes.Compare(p, place) < 0 {
			first, place = it, p
		}
	}
	return first, place
}

// examine adds the task at a place if it matches.
func (l *lister) examine(it *pebble.Iterator, place []byte) error {
	if !l.ended {
		value, err := it.ValueAndErr()
		if err != nil {
			return err
		}
		return l.add(place, value)
	}
	name := place[min(task.EndedPlaceTime, len(place)):]
	l.key = append(appendTaskKey(l.key[:0], taskPrefix, task.Key{Namespace: l.filter.Namespace}), name...)
	value, closer, err := l.view.Get(l.key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil // a scrub removes such an entry
	}
	if err != nil {
		return err
	}
	return errors.Join(l.add(name, value), closer.Close())
}

// add adds the task with the record value if it matches.
func (l *lister) add(name, value []byte) error {
	match, err := codec.MatchRecord(value, l.filter.Namespace, name, l.filter)
	if err != nil {
		return fmt.Errorf("record of task %q in namespace %q: %w", name, l.filter.Namespace, err)
	}
	if !match {
		return nil
	}
	t, err := codec.DecodeRecord(task.Key{Namespace: l.filter.Namespace, Name: string(name)}, value)
	if err != nil {
		return err
	}
	switch {
	case l.ended && t.KeepUntil <= l.now:
		return nil
	case !l.page.Bodies:
		l.weight += len(t.Request.Body) // the texts of t are parts of the whole record
		t = t.WithoutBody()
	case apart(t):
		if t.Request.Body, err = getBody(l.view, t); err != nil {
			return err
		}
	}
	l.weight += t.Weight()
	l.listing.Tasks = append(l.listing.Tasks, t)
	return nil
}
