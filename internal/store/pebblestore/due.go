package pebblestore

import (
	"cmp"
	"container/heap"
	"context"
	"errors"
	"runtime"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// Due implements store.TaskStore. It reads the due index without a lock that a
// write needs.
//
// The index has one lane after the other, each in the order of due times. If the
// budget is too small for all tasks, Due counts the lanes in parts. It always
// continues the lane that it has counted up to the earliest time. So all lanes
// reach about the same time. When the budget ends, Due returns the earliest time
// that a lane has reached: tasks that are due before it were counted in all lanes.
func (s *Store) Due(ctx context.Context, r store.DueRead, found store.DueFound) (exact task.Millis, err error) {
	err = s.read(ctx, "count the due index", func() error {
		c := dueCount{DueRead: r, ctx: ctx, found: found, lanes: s.dueLanes(&r)}
		exact, err = c.run(s.db, s.counts.waiting(&r))
		return err
	})
	if err == nil {
		err = ctx.Err()
	}
	return exact, err
}

// lanePage is the number of lanes that dueLanes examines for each hold of the
// lock.
const lanePage = 1024

// dueLanes returns the lanes that can have tasks that r selects. The mark of a
// lane is a lower bound of its tasks, so the read can begin there.
func (s *Store) dueLanes(r *store.DueRead) (lanes dueLanes) {
	namespaces := []string{r.Namespace}
	if r.Namespace == "" {
		namespaces = s.lanes.Namespaces()
	}
	var heads []task.LaneHead
	for _, namespace := range namespaces {
		for left, more := 0, true; more; more = left > 0 {
			heads, left = s.lanes.Page(heads[:0], namespace, r.End()-1, left, lanePage)
			if r.Queue == "" { // all lanes, so room for the next pages too
				lanes = slices.Grow(lanes, len(heads)+left)
			}
			for _, h := range heads {
				if r.Selects(h.Lane) {
					lanes = append(lanes, dueLane{h.Lane, task.Position{Due: h.Due}})
				}
			}
		}
	}
	return lanes
}

// dueLane is a lane with the position of its first task that was not counted, or
// a position below it.
type dueLane struct {
	task.Lane
	next task.Position
}

// dueLanes is a heap: the first lane is the one that is furthest behind.
type dueLanes []dueLane

func (l dueLanes) Len() int           { return len(l) }
func (l dueLanes) Less(i, j int) bool { return l[i].next.Due < l[j].next.Due }
func (l dueLanes) Swap(i, j int)      { l[i], l[j] = l[j], l[i] }
func (l *dueLanes) Push(x any)        { *l = append(*l, x.(dueLane)) }
func (l *dueLanes) Pop() any {
	last := len(*l) - 1
	x := (*l)[last]
	*l = (*l)[:last]
	return x
}

// The costs of a count. A seek takes as long as a few entries. The parts of all
// lanes together are at most a quarter of the budget, because this much can be
// counted in vain.
const (
	seekCost         = 8
	minPart, maxPart = 8, 4096
)

// yieldEvery is the number of entries after which other goroutines run, such as
// those that deliver tasks. Otherwise they can wait for ten milliseconds until the
// runtime interrupts the count.
const yieldEvery = 256

// dueCount is a count of the due index.
type dueCount struct {
	store.DueRead
	ctx   context.Context
	found store.DueFound
	lanes dueLanes

	it       *pebble.Iterator
	prefix   []byte // of the lane at which the iterator stands
	examined int
}

// run counts until everything is counted, the budget is used up or the context
// has ended. Its only errors are those of the medium.
func (c *dueCount) run(db *pebble.DB, waiting int64) (exact task.Millis, err error) {
	if c.it, err = db.NewIter(nil); err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, c.it.Close()) }()
	if waiting+seekCost*int64(len(c.lanes)) <= int64(c.Budget) {
		return c.End(), c.inFull()
	}
	return c.inParts()
}

// inFull counts each lane to its end, in the order of the keys.
func (c *dueCount) inFull() error {
	slices.SortFunc(c.lanes, func(a, b dueLane) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Queue, b.Queue), cmp.Compare(a.Priority, b.Priority), cmp.Compare(a.Destination, b.Destination))
	})
	for i := range c.lanes {
		if err := c.seek(&c.lanes[i]); err != nil {
			return err
		}
		for more := true; more && c.ctx.Err() == nil; {
			var err error
			if _, more, err = c.part(&c.lanes[i], maxPart); err != nil {
				return err
			}
		}
	}
	return nil
}

// inParts counts the lanes in parts, until the budget ends.
func (c *dueCount) inParts() (exact task.Millis, err error) {
	heap.Init(&c.lanes)
	part := min(max(c.Budget/4/max(len(c.lanes), 1), minPart), maxPart)
	for spent := 0; len(c.lanes) > 0; {
		l := &c.lanes[0]
		if spent >= c.Budget || c.ctx.Err() != nil {
			return l.next.Due, nil
		}
		current := l.Lane
		if err := c.seek(l); err != nil {
			return 0, err
		}
		for spent += seekCost; ; { // while this lane stays the one that is furthest behind
			n, more, err := c.part(l, part)
			if err != nil {
				return 0, err
			}
			if spent += n; !more {
				heap.Pop(&c.lanes)
				break
			}
			if heap.Fix(&c.lanes, 0); c.lanes[0].Lane != current || spent >= c.Budget || c.ctx.Err() != nil {
				break
			}
		}
	}
	return c.End(), nil
}

// seek moves the iterator to the first task of a lane that was not counted.
func (c *dueCount) seek(l *dueLane) error {
	c.prefix = appendLane(c.prefix[:0], l.Lane)
	// The bound keeps the iterator away from the tombstones at the head of the
	// next lane.
	c.it.SetBounds(appendDueKey(nil, l.Lane, l.next), prefixEnd(c.prefix))
	c.it.First()
	return c.it.Error()
}

// part counts up to limit tasks of a lane. It reports whether more can be
// counted.
func (c *dueCount) part(l *dueLane, limit int) (n int, more bool, err error) {
	interval, inside := 0, 0
	flush := func() {
		if inside > 0 {
			c.found(l.Lane, interval, inside)
		}
	}
	defer flush()
	for ; c.it.Valid(); c.it.Next() {
		position := c.it.Key()[len(c.prefix):]
		due := instant(position)
		if due >= c.End() {
			return n, false, nil
		}
		if n == limit {
			l.next = parsePosition(position)
			return n, true, nil
		}
		if inside == 0 || due >= c.Bounds[interval] {
			flush()
			interval, inside = c.Interval(due), 0
		}
		n++
		inside++
		if c.examined++; c.examined%yieldEvery == 0 {
			runtime.Gosched()
		}
	}
	return n, false, c.it.Error()
}
