package pebblestore

import (
	"container/heap"
	"context"
	"errors"

	"github.com/cockroachdb/pebble/v2"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/lowwater"
	"github.com/foliot/foliot/internal/task"
)

const (
	// roundLanes is the number of lanes that one round of Upcoming can read.
	roundLanes = 1024
	// maxRounds bounds the rounds of one call.
	maxRounds = 8
	// maxLanes is the number of lanes that a round can read if r.From is set.
	maxLanes = maxRounds * roundLanes
	// lanePageSize is the number of marks that are examined at a time.
	lanePageSize = 1024
)

// Upcoming implements store.TaskStore. A round merges the lanes with the lowest
// marks. A mark can be too low, so such a lane can be empty, and another lane
// can have earlier tasks than the merged ones. But a round raises the marks of
// the lanes that it reads, so the next round reaches further. A mark before
// r.From stays, so such a read has two rounds, and the second reads more lanes.
func (s *Store) Upcoming(ctx context.Context, r store.UpcomingRead) (page task.Upcoming, err error) {
	err = s.read(ctx, "read the upcoming tasks", func() (err error) {
		lanes := roundLanes
		for range maxRounds {
			complete := false
			if page, complete, err = s.upcomingRound(&r, lanes); complete || err != nil || lanes == maxLanes {
				break
			}
			if r.From > 0 {
				lanes = maxLanes
			}
		}
		return err
	})
	if err != nil {
		return task.Upcoming{}, err
	}
	return page, nil
}

// upcomingRound does one round of at most n lanes. It reports whether the page
// has all records that it can have.
func (s *Store) upcomingRound(r *store.UpcomingRead, n int) (page task.Upcoming, complete bool, err error) {
	heads, end := s.earliestLanes(r, n)
	m := laneMerge{until: min(r.Until, end)}
	defer func() {
		for _, c := range m.all {
			s.lanes.End(c.lane, c.finding)
		}
	}()
	for _, h := range heads {
		m.add(s.lanes, h.Lane, r.From)
	}
	view := s.db.NewSnapshot() // after every Begin
	defer func() { err = errors.Join(err, view.Close()) }()
	if m.it, err = view.NewIter(nil); err != nil {
		return page, false, err
	}
	defer func() { err = errors.Join(err, m.it.Close()) }()
	page = task.NewUpcoming(r.Until)
	for {
		e, ok, err := m.next()
		if err != nil {
			return page, false, err
		}
		if !ok {
			break
		}
		t, err := getRecord(view, e.Key())
		if err != nil {
			return page, false, err
		}
		if t != nil && t.State == task.Scheduled && !page.Add(t, r.Limit) { // a scrub repairs an entry without such a record
			return page, true, nil
		}
	}
	if end > r.Until {
		return page, true, nil
	}
	page.End(end)
	return page, false, nil
}

// earliestLanes returns the lanes of r with the lowest marks, at most n. No
// other lane has an entry before end.
func (s *Store) earliestLanes(r *store.UpcomingRead, n int) (chosen latestHeads, end task.Millis) {
	namespaces := []string{r.Namespace}
	if r.Namespace == "" {
		namespaces = s.lanes.Namespaces()
	}
	end = task.Never + 1
	page := make([]task.LaneHead, 0, lanePageSize)
	for _, namespace := range namespaces {
		for left, more := 0, true; more; more = left > 0 {
			page, left = s.lanes.Page(page[:0], namespace, r.Until, left, lanePageSize)
			for _, h := range page {
				h.Due = max(h.Due, r.From)
				if !r.Selects(h.Lane) {
					continue
				}
				if len(chosen) < n {
					heap.Push(&chosen, h)
					continue
				}
				if h.Due < chosen[0].Due {
					h, chosen[0] = chosen[0], h
					heap.Fix(&chosen, 0)
				}
				end = min(end, h.Due)
			}
		}
	}
	return chosen, end
}

// latestHeads is a heap with the latest head first.
type latestHeads []task.LaneHead

func (h latestHeads) Len() int           { return len(h) }
func (h latestHeads) Less(i, j int) bool { return h[i].Due > h[j].Due }
func (h latestHeads) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *latestHeads) Push(x any)        { *h = append(*h, x.(task.LaneHead)) }
func (h *latestHeads) Pop() any          { panic("unused") }

// laneMerge merges the entries of lanes. It reads a lane only when no other one
// has an earlier entry, and has one iterator.
type laneMerge struct {
	it    *pebble.Iterator
	until task.Millis
	all   []*laneCursor
	open  cursorHeap // those that can have further entries
}

// laneCursor is a place in a lane.
type laneCursor struct {
	lane    task.Lane
	from    task.Position // the next read begins here
	started bool          // a read was made
	atMark  bool          // the first read begins at the mark
	chunk   int           // the number of entries of the next read
	entries []task.Position
	finding lowwater.Finding
}

// add adds a lane. If it still has entries, add begins a read of it.
func (m *laneMerge) add(marks *lowwater.Set, lane task.Lane, from task.Millis) {
	low, ok := marks.Begin(lane)
	if !ok {
		return
	}
	c := &laneCursor{lane: lane, from: low, atMark: from <= low.Due, chunk: 4}
	if !c.atMark {
		c.from = task.Position{Due: from}
	}
	m.all = append(m.all, c)
	heap.Push(&m.open, c)
}

// next returns the next entry. ok is false if there is none up to m.until.
func (m *laneMerge) next() (e task.Entry, ok bool, err error) {
	for len(m.open) > 0 {
		c := m.open[0]
		if c.due() > m.until {
			return e, false, nil
		}
		if len(c.entries) > 0 {
			e = task.Entry{Name: c.entries[0].Name, Lane: c.lane, Due: c.entries[0].Due}
			c.entries = c.entries[1:]
			heap.Fix(&m.open, 0)
			return e, true, nil
		}
		if err := c.read(m.it); err != nil {
			return e, false, err
		}
		if len(c.entries) == 0 {
			heap.Pop(&m.open)
			continue
		}
		heap.Fix(&m.open, 0)
	}
	return e, false, nil
}

// due returns the due time of the next entry, or a lower bound of it.
func (c *laneCursor) due() task.Millis {
	if len(c.entries) > 0 {
		return c.entries[0].Due
	}
	return c.from.Due
}

// read reads the next entries.
func (c *laneCursor) read(it *pebble.Iterator) error {
	prefix := appendLane(nil, c.lane)
	it.SetBounds(appendDueKey(nil, c.lane, c.from), prefixEnd(prefix))
	c.entries = c.entries[:0]
	for ok := it.First(); ok && len(c.entries) < c.chunk; ok = it.Next() {
		c.entries = append(c.entries, parsePosition(it.Key()[len(prefix):]))
	}
	if err := it.Error(); err != nil {
		return err
	}
	if !c.started && c.atMark {
		c.finding = lowwater.Finding{Conclusive: true, Empty: len(c.entries) == 0}
		if !c.finding.Empty {
			c.finding.Head = c.entries[0]
		}
	}
	if n := len(c.entries); n > 0 {
		last := c.entries[n-1]
		c.from = task.Position{Due: last.Due, Name: last.Name + "\x00"} // right after it
	}
	c.started, c.chunk = true, min(2*c.chunk, 256)
	return nil
}

// cursorHeap has the lane with the earliest entry first. An entry comes before a
// lane that must be read first.
type cursorHeap []*laneCursor

func (h cursorHeap) Len() int { return len(h) }

func (h cursorHeap) Less(i, j int) bool {
	if a, b := h[i].due(), h[j].due(); a != b {
		return a < b
	}
	return len(h[i].entries) > 0 && len(h[j].entries) == 0
}

func (h cursorHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *cursorHeap) Push(c any)   { *h = append(*h, c.(*laneCursor)) }

func (h *cursorHeap) Pop() any {
	old := *h
	last := len(old) - 1
	c := old[last]
	old[last], *h = nil, old[:last]
	return c
}
