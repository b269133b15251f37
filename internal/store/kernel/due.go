package kernel

import (
	"cmp"
	"container/heap"
	"context"
	"math"
	"slices"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// Due counts each lane in parts of minPart to maxPart entries. If these bounds allow it,
// one part of each lane is together a quarter of the budget, because about this much can
// be counted in vain.
const minPart, maxPart = 8, 4096

// wholeBatch is how many lanes one call of Reader.Count gets if Due counts each lane to
// its end.
const wholeBatch = 256

// Due counts entries as store.TaskStore requires. most is at least the number of
// entries of the selected lanes, or math.MaxInt64 if it is not known.
//
// If the budget may be too small, Due counts the lanes in parts. It always continues with
// the lanes that are furthest behind, so all lanes reach about the same time. When the
// budget is used up, Due returns the time that the slowest lane has reached.
func Due(ctx context.Context, r Reader, read store.DueRead, most int64, found store.DueFound) (exact task.Millis, err error) {
	lanes, err := r.Lanes(ctx, LaneRead{Namespace: read.Namespace, Selects: read.Selects, Until: read.End() - 1, Limit: read.Budget/2 + 1})
	if err != nil {
		return 0, err
	}
	d := dueCount{Reader: r, read: &read, found: found, open: lanes.Heads}
	exact, left := min(read.End(), lanes.End), read.Budget-lanes.Examined
	if n := int64(len(d.open)); exact == read.End() && n*SeekCost <= int64(left) && most <= int64(left)-n*SeekCost {
		return exact, d.whole(ctx)
	}
	heap.Init(&d.open)
	part := min(max(read.Budget/4/max(len(d.open), 1), minPart), maxPart)
	for len(d.open) > 0 && d.open[0].Low.Due < exact {
		if left <= 0 {
			return d.open[0].Low.Due, nil
		}
		cost, err := d.next(ctx, min(len(d.open), r.Batch()), part)
		if err != nil {
			return 0, err
		}
		left -= cost
	}
	return exact, nil
}

// dueCount is the state of one call of Due.
type dueCount struct {
	Reader
	read  *store.DueRead
	found store.DueFound
	open  dueHeads
}

// whole counts each lane to its end, in the order of the lanes, which is the order in
// which most media store them.
func (d *dueCount) whole(ctx context.Context) error {
	slices.SortFunc(d.open, func(a, b Head) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Queue, b.Queue), cmp.Compare(a.Priority, b.Priority), cmp.Compare(a.Destination, b.Destination))
	})
	for some := range slices.Chunk(d.open, wholeBatch) {
		if _, err := d.count(ctx, some, math.MaxInt); err != nil {
			return err
		}
	}
	return nil
}

// next counts a part of each of the first n lanes, and returns the cost.
func (d *dueCount) next(ctx context.Context, n, part int) (cost int, err error) {
	heads := make([]Head, n)
	for i := range heads {
		heads[i] = heap.Pop(&d.open).(Head)
	}
	counted, err := d.count(ctx, heads, part)
	if err != nil {
		return 0, err
	}
	for i, c := range counted {
		if cost += c.Cost; c.Next != "" {
			heads[i].Low = Position(c.Next)
			heap.Push(&d.open, heads[i])
		}
	}
	return cost, nil
}

func (d *dueCount) count(ctx context.Context, heads []Head, limit int) ([]Counted, error) {
	ranges := make([]Range, len(heads))
	for i, h := range heads {
		ranges[i] = Range{Index: ByDue, Part: h.Part, Lane: h.Lane, From: DuePlace(h.Low), Limit: limit}
	}
	counted, err := d.Count(ctx, ranges, d.read, d.found)
	return counted, cmp.Or(err, ctx.Err())
}

// dueHeads is a heap, in which the first lane is the one that is furthest behind.
type dueHeads []Head

func (h dueHeads) Len() int           { return len(h) }
func (h dueHeads) Less(i, j int) bool { return h[i].Low.Due < h[j].Low.Due }
func (h dueHeads) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *dueHeads) Push(x any)        { *h = append(*h, x.(Head)) }
func (h *dueHeads) Pop() any {
	last := len(*h) - 1
	x := (*h)[last]
	*h = (*h)[:last]
	return x
}
