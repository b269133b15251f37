package pebblestore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/codec"
	"github.com/foliot/foliot/internal/store/kernel"
	"github.com/foliot/foliot/internal/store/lowwater"
	"github.com/foliot/foliot/internal/task"
)

// List implements store.TaskStore.
func (s *Store) List(ctx context.Context, f task.Filter, page task.Page) (l task.Listing, err error) {
	err = s.query(ctx, "list tasks", func(v *view) error {
		l, err = kernel.List(ctx, v, f, page)
		return err
	})
	return l, err
}

// Upcoming implements store.TaskStore.
func (s *Store) Upcoming(ctx context.Context, r store.UpcomingRead) (page task.Upcoming, err error) {
	err = s.query(ctx, "read the upcoming tasks", func(v *view) error {
		v.raises = true
		page, err = kernel.Upcoming(ctx, v, r)
		return err
	})
	return page, err
}

// Due implements store.TaskStore.
func (s *Store) Due(ctx context.Context, r store.DueRead, found store.DueFound) (exact task.Millis, err error) {
	err = s.query(ctx, "count the due index", func(v *view) error {
		exact, err = kernel.Due(ctx, v, r, s.counts.waiting(&r), found)
		return err
	})
	return exact, err
}

// query runs a query of the kernel, with a failure of the medium as its error, unless
// that is the one of ctx.
func (s *Store) query(ctx context.Context, what string, use func(*view) error) error {
	v := view{Store: s}
	err := s.read(ctx, what, func() (err error) {
		defer func() { err = errors.Join(err, v.close()) }()
		if err := use(&v); ctx.Err() == nil || !errors.Is(err, ctx.Err()) {
			return err
		}
		return nil
	})
	return cmp.Or(err, ctx.Err())
}

// view is a kernel.Reader of a snapshot of the store.
type view struct {
	*Store
	raises bool // reads of lanes raise their marks

	snapshot *pebble.Snapshot // nil until the first read
	it       *pebble.Iterator
	rows     []row     // the records of the latest scan by name, which Records reads next
	values   []byte    // their values
	unread   int       // the next one of rows
	begun    []lowRead // the reads that raise marks; the Part of a Head is an index of it
	space    []byte    // scratch
	key      []byte
	counted  int
}

// row is a record that a scan by name has read.
type row struct {
	name     string
	from, to int // of its value
}

// lowRead is a read of a lane that raises its mark.
type lowRead struct {
	lane    task.Lane
	low     task.Position // the mark
	finding lowwater.Finding
}

// open takes the snapshot, which must be after lowwater.Begin.
func (v *view) open() (err error) {
	if v.snapshot != nil {
		return nil
	}
	v.snapshot = v.db.NewSnapshot()
	v.it, err = v.snapshot.NewIter(nil)
	return err
}

func (v *view) close() (err error) {
	for _, r := range v.begun {
		v.lanes.End(r.lane, r.finding)
	}
	v.begun = v.begun[:0]
	if v.it != nil {
		err = v.it.Close()
	}
	if v.snapshot != nil {
		err = errors.Join(err, v.snapshot.Close())
	}
	v.it, v.snapshot = nil, nil
	return err
}

func (v *view) Parts() int { return 1 }

func (v *view) Batch() int { return 1 }

func (v *view) Scan(_ context.Context, ranges []kernel.Range) ([][]string, error) {
	if err := v.open(); err != nil {
		return nil, err
	}
	all := make([][]string, len(ranges))
	for i := range ranges {
		r := &ranges[i]
		v.rows, v.values, v.unread = v.rows[:0], v.values[:0], 0
		for ok := v.seek(r); ok && len(all[i]) < r.Limit; ok = v.it.Next() {
			place := string(v.it.Key()[len(v.space):])
			if all[i] = append(all[i], place); r.Index == kernel.ByName {
				value, err := v.it.ValueAndErr()
				if err != nil {
					return nil, err
				}
				v.rows = append(v.rows, row{place, len(v.values), len(v.values) + len(value)})
				v.values = append(v.values, value...)
			}
		}
		if err := v.it.Error(); err != nil {
			return nil, err
		}
		if r.Index == kernel.ByDue && v.raises {
			v.begun[r.Part].found(r.From, all[i])
		}
	}
	return all, nil
}

func (r *lowRead) found(from string, places []string) {
	switch {
	case from != kernel.DuePlace(r.low):
	case len(places) == 0:
		r.finding = lowwater.Finding{Conclusive: true, Empty: true}
	default:
		r.finding = lowwater.Finding{Conclusive: true, Head: kernel.Position(places[0])}
	}
}

// seek moves the iterator to the first place of a range, within bounds that keep it
// away from the tombstones at the head of the next lane.
func (v *view) seek(r *kernel.Range) bool {
	if r.Index == kernel.ByDue {
		v.space = appendLane(v.space[:0], r.Lane)
	} else {
		v.space = appendTaskKey(v.space[:0], placePrefix[r.Index], task.Key{Namespace: r.Lane.Namespace})
	}
	end := prefixEnd(v.space)
	if r.To != "" {
		end = append(slices.Clip(v.space), r.To...)
	}
	v.key = append(append(v.key[:0], v.space...), r.From...)
	v.it.SetBounds(v.key, end)
	return v.it.First()
}

func (v *view) Records(_ context.Context, keys []task.Key, f *task.Filter, bodies bool) ([]*task.Task, error) {
	all, weight := make([]*task.Task, 0, len(keys)), 0
	for _, key := range keys {
		t, err := v.matching(key, f)
		if err != nil {
			return nil, err
		}
		if all = append(all, t); t == nil {
			continue
		}
		if bodies && apart(t) {
			if t.Request.Body, err = getBody(v.snapshot, t); err != nil {
				return nil, err
			}
		}
		if weight += t.Weight(); weight >= task.MaxPageBytes {
			break
		}
	}
	return all, nil
}

// matching returns a record if it exists and f matches it, and decodes no other one.
func (v *view) matching(key task.Key, f *task.Filter) (t *task.Task, err error) {
	v.key = appendTaskKey(v.key[:0], taskPrefix, key)
	value, closer, err := v.value(key.Name)
	if err != nil || closer == nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, closer.Close()) }()
	if f != nil {
		match, err := codec.MatchRecord(value, key.Namespace, v.key[len(v.key)-len(key.Name):], f)
		if err != nil {
			return nil, fmt.Errorf("record of task %q in namespace %q: %w", key.Name, key.Namespace, err)
		}
		if !match {
			return nil, nil
		}
	}
	return codec.DecodeRecord(key, value)
}

// value returns the value of v.key, the key of a record with that name, and a nil Closer
// if there is none.
func (v *view) value(name string) ([]byte, io.Closer, error) {
	if v.unread < len(v.rows) && v.rows[v.unread].name == name {
		r := v.rows[v.unread]
		v.unread++
		return v.values[r.from:r.to], kept{}, nil
	}
	value, closer, err := v.snapshot.Get(v.key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, nil, nil
	}
	return value, closer, err
}

// kept is the Closer of the value of a row, which stays valid until the next scan.
type kept struct{}

func (kept) Close() error { return nil }

// lanePage is the number of lanes that are examined for each hold of the marks' lock.
const lanePage = 1024

// Lanes implements kernel.Reader, with the marks of lanes as the bounds.
func (v *view) Lanes(_ context.Context, r kernel.LaneRead) (kernel.Lanes, error) {
	if err := v.close(); err != nil { // the marks that were raised are seen now
		return kernel.Lanes{}, err
	}
	namespaces := []string{r.Namespace}
	if r.Namespace == "" {
		namespaces = v.lanes.Namespaces()
	}
	found, paged := kernel.Lanes{End: math.MaxInt64}, false
	page := make([]task.LaneHead, 0, lanePage)
	for _, namespace := range namespaces {
		for left, more := 0, true; more; more = left > 0 {
			page, left = v.lanes.Page(page[:0], namespace, r.Until, left, lanePage)
			paged = paged || left > 0
			for _, h := range page {
				if h.Due < found.End && r.Selects(h.Lane) {
					found.Heads = append(found.Heads, kernel.Head{Lane: h.Lane, Low: task.Position{Due: h.Due}})
				}
			}
			cutHeads(&found, r.Limit)
		}
	}
	if paged {
		found.Heads = onceEach(found.Heads)
	}
	if v.raises {
		found.Heads = v.begin(found.Heads)
	}
	return found, nil
}

// onceEach removes the second heads of lanes, because a lane is named twice if another
// one ended between two pages.
func onceEach(heads []kernel.Head) []kernel.Head {
	seen := make(map[task.Lane]bool, len(heads))
	return slices.DeleteFunc(heads, func(h kernel.Head) bool {
		again := seen[h.Lane]
		seen[h.Lane] = true
		return again
	})
}

// cutHeads removes the latest heads if there are more than limit.
func cutHeads(found *kernel.Lanes, limit int) {
	if len(found.Heads) > limit {
		slices.SortFunc(found.Heads, func(a, b kernel.Head) int { return cmp.Compare(a.Low.Due, b.Low.Due) })
		found.End, found.Heads = found.Heads[limit].Low.Due, found.Heads[:limit]
	}
}

// begin begins reads of lanes that raise their marks, and returns the lanes that still
// have entries.
func (v *view) begin(heads []kernel.Head) []kernel.Head {
	has := heads[:0]
	for _, h := range heads {
		low, ok := v.lanes.Begin(h.Lane)
		if !ok {
			continue
		}
		h.Low, h.Part = low, len(v.begun)
		v.begun = append(v.begun, lowRead{lane: h.Lane, low: low})
		has = append(has, h)
	}
	return has
}

// yieldEvery is the number of entries after which other goroutines run, such as
// those that deliver tasks. Otherwise they can wait for ten milliseconds until the
// runtime interrupts a count.
const yieldEvery = 256

func (v *view) Count(ctx context.Context, ranges []kernel.Range, r *store.DueRead, found store.DueFound) ([]kernel.Counted, error) {
	if err := v.open(); err != nil {
		return nil, err
	}
	all := make([]kernel.Counted, len(ranges))
	for i := range ranges {
		var err error
		if all[i], err = v.count(ctx, &ranges[i], r, found); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (v *view) count(ctx context.Context, in *kernel.Range, r *store.DueRead, found store.DueFound) (c kernel.Counted, err error) {
	c.Cost = kernel.SeekCost
	interval, inside := 0, 0
	flush := func() {
		if inside > 0 {
			found(in.Lane, interval, inside)
		}
	}
	for ok := v.seek(in); ok; ok = v.it.Next() {
		place := v.it.Key()[len(v.space):]
		due := instant(place)
		if due >= r.End() {
			break
		}
		if c.Cost-kernel.SeekCost == in.Limit {
			c.Next = string(place)
			break
		}
		if inside == 0 || due >= r.Bounds[interval] {
			flush()
			interval, inside = r.Interval(due), 0
		}
		c.Cost++
		inside++
		if v.counted++; v.counted%yieldEvery == 0 {
			if ctx.Err() != nil {
				break
			}
			runtime.Gosched()
		}
	}
	flush()
	return c, v.it.Error()
}
