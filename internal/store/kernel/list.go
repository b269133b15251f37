package kernel

import (
	"context"
	"math"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/task"
)

// List returns a page as store.TaskStore requires. In a medium without snapshots, List
// can omit a task that ends during the call, if page.ByEnd is set.
func List(ctx context.Context, r Reader, f task.Filter, page task.Page) (task.Listing, error) {
	l := lister{Reader: r, filter: &f, page: page, has: func(*task.Task, string) bool { return true }}
	if page.ByEnd == 0 {
		return l.run(ctx, []Index{ByName})
	}
	l.nameAt, l.has = task.EndedPlaceTime, func(t *task.Task, place string) bool {
		return !t.State.Live() && t.KeepUntil > page.ByEnd && t.EndedPlace() == place
	}
	return l.run(ctx, endIndexes(f.States))
}

// lister lists a page of the tasks of a namespace in the order of some indexes.
type lister struct {
	Reader
	filter *task.Filter
	page   task.Page
	nameAt int                           // where the name begins in a place
	has    func(*task.Task, string) bool // whether the task, which was read later than its place, still belongs there

	merge            *merge
	last             string   // the latest place that the merge returned
	ahead            []string // places whose records were not examined yet
	listing          task.Listing
	examined, weight int
}

// run examines the records chunk by chunk. It reads one place more than the chunk,
// because that place shows whether there is a next page.
func (l *lister) run(ctx context.Context, indexes []Index) (task.Listing, error) {
	chunk, batch := max(l.page.Limit, l.Batch()), 1
	if l.Batch() > 1 {
		batch = math.MaxInt // all parts have about the same next places
	}
	l.merge = newMerge(l, l.ranges(indexes), batch, math.MaxInt, chunk+1)
	for ; ; chunk = l.nextChunk(chunk) {
		limit := min(chunk, task.MaxPageExamined-l.examined)
		if err := l.fill(ctx, limit+1); err != nil {
			return task.Listing{}, err
		}
		if err := l.examine(ctx, min(limit, len(l.ahead))); err != nil {
			return task.Listing{}, err
		}
		if len(l.ahead) == 0 {
			l.listing.Next = ""
			return l.listing, nil
		}
		if l.full() || l.examined >= task.MaxPageExamined {
			return l.listing, nil
		}
	}
}

// nextChunk returns the length of the chunk that follows a chunk of n places, which is n
// again with bodies, because these can be large.
func (l *lister) nextChunk(n int) int {
	if l.page.Bodies {
		return n
	}
	return max(n, min(2*n, maxChunk))
}

func (l *lister) ranges(indexes []Index) (all []Range) {
	in := Range{Lane: task.Lane{Namespace: l.filter.Namespace}, To: l.page.Before}
	if l.page.After != "" {
		in.From = after(l.page.After)
	}
	for _, in.Index = range indexes {
		for in.Part = range l.Parts() {
			all = append(all, in)
		}
	}
	return all
}

// fill reads places ahead until there are n, or no more.
func (l *lister) fill(ctx context.Context, n int) error {
	for len(l.ahead) < n {
		s, place, err := l.merge.next(ctx, n-len(l.ahead), "")
		if err != nil {
			return err
		}
		if s == nil {
			return nil
		}
		if place == l.last {
			continue // the task moved to another index between two reads
		}
		l.last, l.ahead = place, append(l.ahead, place)
	}
	return nil
}

// examine examines the records of the first n places ahead, unless the page is full
// before.
func (l *lister) examine(ctx context.Context, n int) error {
	if n == 0 {
		return nil
	}
	keys := make([]task.Key, n)
	for i, place := range l.ahead[:n] {
		keys[i] = task.Key{Namespace: l.filter.Namespace, Name: place[l.nameAt:]}
	}
	got, err := l.Records(ctx, keys, l.filter, l.page.Bodies)
	if err != nil {
		return err
	}
	for _, t := range got {
		if l.full() {
			return nil
		}
		place := l.ahead[0]
		l.ahead, l.listing.Next = l.ahead[1:], place
		l.examined++
		if t == nil || !l.has(t, place) || !l.filter.Match(t) {
			continue
		}
		l.weight += t.Weight() // with a body that is then removed, because the other texts of t can be parts of the same bytes
		if !l.page.Bodies {
			t = t.WithoutBody()
		}
		l.listing.Tasks = append(l.listing.Tasks, t)
	}
	return nil
}

func (l *lister) full() bool {
	return len(l.listing.Tasks) >= l.page.Limit || l.weight >= task.MaxPageBytes
}

// Audit returns a page of the audit log: see store.SettingsStore. newest returns the n
// newest entries whose Seq is below before (0: from the newest), or all if there are fewer.
func Audit(f settings.AuditFilter, before uint64, limit int, newest func(before uint64, n int) ([]settings.AuditEntry, error)) (page settings.AuditPage, err error) {
	for left, part := task.MaxPageExamined, limit+1; left > 0; part = 1000 {
		part = min(part, left)
		entries, err := newest(before, part)
		if err != nil {
			return settings.AuditPage{}, err
		}
		for i := range entries {
			if len(page.Entries) >= limit {
				return page, nil
			}
			page.Next = entries[i].Seq
			if f.Match(&entries[i]) {
				page.Entries = append(page.Entries, entries[i])
			}
		}
		if len(entries) < part {
			page.Next = 0
			return page, nil
		}
		left -= len(entries)
		before = page.Next
	}
	return page, nil
}
