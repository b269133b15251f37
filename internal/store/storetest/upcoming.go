package storetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

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
		"upcoming records are read in due order",
		"A page equals all waiting records that the read selects, sorted by due time, and cut: after any creates, claims, moves and cancels.",
		func(f *fixture) {
			r := rand.New(rand.NewPCG(3, 5))
			now := start
			for i := range 400 {
				now += task.Millis(r.IntN(20))
				f.mix(now, r, fmt.Sprintf("t%02d", r.IntN(60)))
				if i%8 == 0 {
					f.checkUpcoming(r, f.everything())
				}
			}
		},
	},
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
	{
		"a read from a later time finds the records behind overdue ones",
		"Each of many lanes has an overdue task. The tasks that are due later are all on the page, and no overdue one is.",
		func(f *fixture) {
			const n, later = 3 * readAtOnce / 2, 32
			var changes []task.Change
			for i := range n {
				host := fmt.Sprintf("http://h%d.example/", i)
				changes = append(changes, task.Create{Spec: f.spec(fmt.Sprintf("t%04d", i), at(start-task.Millis(i)), url(host), tasktest.Bodiless)})
				if i%(n/later) == 0 {
					changes = append(changes, task.Create{Spec: f.spec(fmt.Sprintf("u%04d", i), at(start+task.Millis(1+i)), url(host), tasktest.Bodiless)})
				}
			}
			for part := range slices.Chunk(changes, task.MaxBatch) {
				f.batch(start-n, part...)
			}
			for _, limit := range []int{later / 2, later, n} {
				page := f.upcoming(store.UpcomingRead{From: start + 1, Until: task.Never, Limit: limit})
				if want := min(limit, later); len(page.Tasks) != want || page.More != (limit < later) {
					f.Fatalf("limit %d: %d records of %d, more %v", limit, len(page.Tasks), want, page.More)
				}
				for i, t := range page.Tasks {
					if want := fmt.Sprintf("u%04d", i*n/later); t.Name != want {
						f.Fatalf("limit %d: record %d is %s, want %s", limit, i, t.Name, want)
					}
				}
			}
		},
	},
}

// mix makes a random change of a task.
func (f *fixture) mix(now task.Millis, r *rand.Rand, name string) {
	f.Helper()
	spaces := []string{task.DefaultNamespace, "other"}
	due := at(now + task.Millis(r.IntN(200)))
	s := f.spec(name, namespace(spaces[r.IntN(2)]), due, queue([]string{"default", "mail"}[r.IntN(2)]), priority(task.Priority(r.IntN(3))), url(fmt.Sprintf("http://h%d.example/", r.IntN(4))))
	switch r.IntN(8) {
	case 0:
		f.apply(now, task.Cancel{Key: s.Key})
	case 1:
		f.apply(now, task.Run{Key: s.Key})
	case 2:
		if t, err := f.store.Get(f.Context(), s.Key); err == nil && f.tryClaim(now, t, "token").Err == nil && r.IntN(2) == 0 {
			f.settle(now, t, "token", task.Outcome{Verdict: task.Failure})
		}
	case 3:
		spec := f.scheduleSpec(fmt.Sprintf("s%d", r.IntN(5)), time.Minute)
		spec.Namespace = s.Namespace
		f.apply(now, task.PutSchedule{Spec: spec})
	default:
		f.apply(now, task.Replace{Spec: s})
	}
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
	var all []*task.Task
	for _, t := range records {
		if t.State == task.Scheduled && t.Due >= read.From && t.Due <= read.Until && read.Selects(t.Lane()) {
			all = append(all, t)
		}
	}
	slices.SortFunc(all, func(a, b *task.Task) int { return int(a.Due - b.Due) })
	page := f.upcoming(read)
	if n := min(read.Limit, len(all)); len(page.Tasks) != n || page.More != (len(all) > n) {
		f.Fatalf("%+v: %d records of %d, more %v", read, len(page.Tasks), len(all), page.More)
	}
	seen := map[task.Key]bool{}
	for i, t := range page.Tasks {
		if seen[t.Key()] || t.Due != all[i].Due {
			f.Fatalf("%+v: record %d is %s at %d, want due %d", read, i, t.Name, t.Due-start, all[i].Due-start)
		}
		seen[t.Key()] = true
		f.same("upcoming "+t.Name, t, f.load(t.Key()).WithoutBody())
	}
	for _, t := range all {
		if t.Due < page.Until && !seen[t.Key()] {
			f.Fatalf("%+v: %s is due at %d, before %d, and missing", read, t.Name, t.Due-start, page.Until-start)
		}
	}
}
