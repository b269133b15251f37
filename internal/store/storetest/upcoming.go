package storetest

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/tasktest"
)

// readAtOnce is at least the number of lanes that a store reads at a time.
const readAtOnce = 1024

// upcomingCases: the records that wait are read in the order of their due times,
// across all lanes.
var upcomingCases = []testCase{
	{
		"upcoming records are found in many lanes",
		"The tasks of many destinations are merged. Lanes that have become empty hide none.",
		func(f *fixture) {
			const n, empty = 3 * readAtOnce / 2, 5 * readAtOnce / 4
			var changes []task.Change
			for i := range n {
				due, host := start+task.Millis(1000+i*7919%n), fmt.Sprintf("http://h%d.example/", i)
				changes = append(changes, task.Create{Spec: f.spec(fmt.Sprintf("t%04d", i), at(due), url(host), tasktest.Bodiless)})
			}
			for part := range slices.Chunk(changes, task.MaxBatch) {
				f.batch(start, part...)
			}
			r := rand.New(rand.NewPCG(3, 6))
			all := f.everything()
			for range 5 {
				f.checkUpcoming(r, all)
			}
			changes = changes[:0]
			for _, t := range f.upcoming(store.UpcomingRead{Until: task.Never, Limit: empty}).Tasks {
				changes = append(changes, task.Cancel{Key: t.Key()})
			}
			for part := range slices.Chunk(changes, task.MaxBatch) {
				f.batch(start, part...)
			}
			all = f.everything()
			for range 5 {
				f.checkUpcoming(r, all)
			}
		},
	},
}

func (f *fixture) upcoming(r store.UpcomingRead) task.Upcoming {
	f.Helper()
	page, err := f.store.Upcoming(f.Context(), r)
	if err != nil {
		f.Fatalf("Upcoming %+v: %v", r, err)
	}
	return page
}

// everything returns all records.
func (f *fixture) everything() (all []*task.Task) {
	f.Helper()
	for _, space := range []string{task.DefaultNamespace, "other"} {
		records, err := DrainAll(f.Context(), f.store, space, task.Page{Limit: 1000})
		fatal.If(f, err)
		all = append(all, records...)
	}
	return all
}

// checkUpcoming compares a random read with all records, sorted.
func (f *fixture) checkUpcoming(r *rand.Rand, records []*task.Task) {
	f.Helper()
	read := store.UpcomingRead{
		Namespace: []string{"", task.DefaultNamespace, "other", "none"}[r.IntN(4)], Queue: []string{"", "mail", task.ScheduleQueue}[r.IntN(3)],
		Until: start + task.Millis(r.IntN(10_000)), Limit: 1 + r.IntN(40),
	}
	if r.IntN(3) == 0 {
		read.From = start + task.Millis(r.IntN(3000))
	}
	if r.IntN(3) == 0 {
		read.Until = task.Never
	}
	fatal.If(f, compareUpcoming(f.Context(), f.store, read, records))
}

// compareUpcoming compares a read with all records, sorted by due time.
func compareUpcoming(ctx context.Context, s store.TaskStore, read store.UpcomingRead, records []*task.Task) error {
	var all []*task.Task
	for _, t := range records {
		if t.State == task.Scheduled && t.Due >= read.From && t.Due <= read.Until && read.Selects(t.Lane()) {
			all = append(all, t)
		}
	}
	slices.SortFunc(all, func(a, b *task.Task) int { return cmp.Compare(a.Due, b.Due) })
	page, err := s.Upcoming(ctx, read)
	if n := min(read.Limit, len(all)); err != nil || len(page.Tasks) != n || page.More != (len(all) > n) {
		return fmt.Errorf("upcoming %+v: %d records of %d, more %v, error %w", read, len(page.Tasks), len(all), page.More, err)
	}
	got := map[task.Key]*task.Task{}
	for i, t := range page.Tasks {
		if got[t.Key()] != nil || t.Due != all[i].Due {
			return fmt.Errorf("upcoming %+v: record %d is %s at %d, want due %d", read, i, t.Name, t.Due, all[i].Due)
		}
		got[t.Key()] = t
	}
	for _, t := range all {
		switch found := got[t.Key()]; {
		case found == nil && t.Due < page.Until:
			return fmt.Errorf("upcoming %+v: %s is due at %d, before %d, and missing", read, t.Name, t.Due, page.Until)
		case found != nil:
			if err := differ("upcoming records", plain(t.WithoutBody()), plain(found)); err != nil {
				return err
			}
		}
	}
	return nil
}
