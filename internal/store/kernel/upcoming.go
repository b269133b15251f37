package kernel

import (
	"context"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// A round of Upcoming merges the lanes with the lowest bounds. If a bound is too low, its
// lane is read in vain, and a lane outside the round can have earlier entries than the
// merged lanes. Then the next round merges more lanes.
const (
	firstLanes = 256  // the first round reads so many lanes, and one more for each record of the page
	maxLanes   = 8192 // the last round; store.UpcomingRead promises eight thousand

	// A lane has a head in each part that has its tasks. So a round reads partsOfLane
	// heads for each of its lanes, and the last round reads at least leastOfPart heads
	// for each part.
	partsOfLane, leastOfPart = 4, 16
)

// Upcoming returns a page as store.TaskStore requires. In a medium without
// snapshots, a record that changes during the read can be missing.
func Upcoming(ctx context.Context, r Reader, read store.UpcomingRead) (task.Upcoming, error) {
	for n := firstLanes + read.Limit; ; n *= 8 {
		n = min(n, maxLanes)
		page, complete, err := upcomingOf(ctx, r, &read, n)
		if err != nil {
			return task.Upcoming{}, err
		}
		if complete || n == maxLanes {
			return page, nil
		}
	}
}

// upcomingOf merges about n lanes, and reports whether the page has all records that it
// can have.
func upcomingOf(ctx context.Context, r Reader, read *store.UpcomingRead, n int) (page task.Upcoming, complete bool, err error) {
	limit := n * min(r.Parts(), partsOfLane)
	if n == maxLanes {
		limit = max(limit, leastOfPart*r.Parts())
	}
	lanes, err := r.Lanes(ctx, LaneRead{Namespace: read.Namespace, Selects: read.Selects, Until: read.Until, Limit: limit})
	if err != nil {
		return page, false, err
	}
	end := max(lanes.End, read.From)
	entries, err := firstEntries(ctx, r, lanes.Heads, read.From, min(read.Until, end), read.Limit+1) // one more shows that there is more
	if err != nil {
		return page, false, err
	}
	page = task.NewUpcoming(read.Until)
	for rest := entries; len(rest) > 0; {
		keys := make([]task.Key, len(rest))
		for i, e := range rest {
			keys[i] = e.Key()
		}
		got, err := r.Records(ctx, keys, nil, false)
		if err != nil {
			return page, false, err
		}
		for i, t := range got {
			if t != nil && t.State == task.Scheduled && t.Entry() == rest[i] && !page.Add(t, read.Limit) {
				return page, true, nil
			}
		}
		rest = rest[len(got):]
	}
	switch {
	case len(entries) > read.Limit: // some have no record any more
		page.End(entries[read.Limit].Due)
		return page, true, nil
	case end > read.Until:
		return page, true, nil
	}
	page.End(end)
	return page, false, nil
}

// firstEntries returns, in order, the first entries of heads that are due between from
// and until, both included, but at most limit entries.
func firstEntries(ctx context.Context, r Reader, heads []Head, from, until task.Millis, limit int) (entries []task.Entry, err error) {
	if len(heads) == 0 {
		return nil, nil
	}
	ranges := make([]Range, len(heads))
	for i, h := range heads {
		if h.Low.Due < from {
			h.Low = task.Position{Due: from}
		}
		ranges[i] = Range{Index: ByDue, Part: h.Part, Lane: h.Lane, From: DuePlace(h.Low)}
	}
	m := newMerge(r, ranges, r.Batch(), dueLen, limit)
	for last := DuePlace(task.Position{Due: until}); len(entries) < limit; {
		s, place, err := m.next(ctx, limit-len(entries), last)
		if s == nil || err != nil {
			return entries, err
		}
		p := Position(place)
		entries = append(entries, task.Entry{Name: p.Name, Lane: s.Lane, Due: p.Due})
	}
	return entries, nil
}
