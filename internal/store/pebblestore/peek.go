package pebblestore

import (
	"bytes"
	"context"
	"errors"

	"github.com/cockroachdb/pebble/v2"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/lowwater"
	"github.com/foliot/foliot/internal/task"
)

// LanePages implements store.DispatchStore. It does not wait for a sync, because the
// existence of a lane is no promise, and Peek waits before it returns an entry.
func (s *Store) LanePages(ctx context.Context, until task.Millis, reads []store.LanePageRead) ([]store.LanePage, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var pages []store.LanePage
	err := s.locked("read the lanes", func() error {
		pages = lowwater.Pages([]*lowwater.Set{s.lanes}, until, reads)
		return nil
	})
	return pages, err
}

// Peek implements store.DispatchStore.
func (s *Store) Peek(ctx context.Context, reads []store.LaneRead) ([][]task.Entry, error) {
	found := make([][]task.Entry, len(reads))
	return found, s.read(ctx, "read the due index", func() error { return s.peek(reads, found) })
}

func (s *Store) peek(reads []store.LaneRead, found [][]task.Entry) (err error) {
	peeks := make([]peek, 0, len(reads))
	defer func() {
		for _, p := range peeks {
			s.lanes.End(p.Lane, p.finding)
		}
	}()
	for i, r := range reads {
		if low, ok := s.lanes.Begin(r.Lane); ok {
			peeks = append(peeks, peek{LaneRead: r, low: low, into: &found[i]})
		}
	}
	if len(peeks) == 0 {
		return nil
	}
	it, err := s.db.NewIter(nil) // after every Begin
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for i := range peeks {
		if err := peeks[i].run(it); err != nil {
			return err
		}
	}
	return nil
}

// peek is one read of a lane's index.
type peek struct {
	store.LaneRead
	low     task.Position // the lane's mark
	into    *[]task.Entry
	finding lowwater.Finding
}

// run reads up to the first entry after Until, which is not returned, but shows
// where the lane's head is.
func (p *peek) run(it *pebble.Iterator) error {
	prefix := appendLane(nil, p.Lane)
	conclusive, from := true, appendDueKey(nil, p.Lane, p.low)
	if p.After != (task.Position{}) {
		if after := append(appendDueKey(nil, p.Lane, p.After), 0); bytes.Compare(after, from) > 0 {
			conclusive, from = false, after
		}
	}
	// The bound keeps the iterator away from the tombstones at the head of the
	// next lane.
	it.SetBounds(from, prefixEnd(prefix))
	ok := it.First()
	if ok && conclusive {
		p.finding = lowwater.Finding{Conclusive: true, Head: parsePosition(it.Key()[len(prefix):])}
	}
	for ; ok && len(*p.into) < p.Limit; ok = it.Next() {
		at := parsePosition(it.Key()[len(prefix):])
		if at.Due > p.Until {
			break
		}
		*p.into = append(*p.into, task.Entry{Name: at.Name, Lane: p.Lane, Due: at.Due})
	}
	if err := it.Error(); err != nil {
		p.finding = lowwater.Finding{}
		return err
	}
	if conclusive && !p.finding.Conclusive {
		p.finding = lowwater.Finding{Conclusive: true, Empty: true}
	}
	return nil
}

// loadLanes finds the lanes and their first entries, by a seek from lane to lane.
func loadLanes(db *pebble.DB) (lanes *lowwater.Set, err error) {
	lanes = lowwater.New()
	space := []byte(duePrefix)
	it, err := db.NewIter(&pebble.IterOptions{LowerBound: space, UpperBound: prefixEnd(space)})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for ok := it.First(); ok; {
		key, head, n, err := parseDueKey(it.Key())
		if err != nil {
			return nil, err
		}
		lanes.Added([]task.Entry{{Lane: key, Due: head.Due, Name: head.Name}})
		ok = it.SeekGE(prefixEnd(it.Key()[:n]))
	}
	return lanes, it.Error()
}
