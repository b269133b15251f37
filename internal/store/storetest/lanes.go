package storetest

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/tasktest"
)

// forever is a bound that includes every due time.
const forever task.Millis = math.MaxInt64

// laneCases: waiting tasks can be read lane by lane, the earliest first,
// without being taken. A task is in exactly the lane of its record.
var laneCases = []testCase{
	{
		"lanes are read in pages, namespace by namespace",
		"The pages of a namespace name each of its lanes that has a task due throughout, even if other lanes come and go, and no lane of another namespace.",
		func(f *fixture) {
			var stay, other []*task.Task
			for i := range 20 {
				stay = append(stay, f.create(fmt.Sprintf("stays%d", i), queue(fmt.Sprintf("stays%d", i)), at(start+task.Millis(i))))
				f.create(fmt.Sprintf("goes%d", i), queue(fmt.Sprintf("goes%d", i)), at(start))
				f.create(fmt.Sprintf("late%d", i), queue(fmt.Sprintf("late%d", i)), at(start+5000))
			}
			for i := range 3 {
				other = append(other, f.create(fmt.Sprintf("other%d", i), namespace("other"), queue(fmt.Sprintf("other%d", i)), at(start)))
			}
			names, err := store.Namespaces(f.Context(), f.store, start)
			if err != nil || !slices.Contains(names, "other") || !slices.Contains(names, stay[0].Namespace) {
				f.Fatalf("namespaces %q, error %v", names, err)
			}
			gone := 0
			f.wantPages(stay, start+1000, func() { // lanes are removed, and sometimes another is added
				if gone < 20 {
					key := tasktest.Key(fmt.Sprintf("goes%d", gone))
					lane := f.get(key.Name).Lane()
					f.must(start, task.Cancel{Key: key})
					if _, err := f.store.Peek(f.Context(), []store.LaneRead{{Lane: lane, Until: forever, Limit: 1}}); err != nil {
						f.Fatal(err)
					}
					if gone++; gone%8 == 0 {
						f.create(fmt.Sprintf("comes%d", gone), queue(fmt.Sprintf("comes%d", gone)), at(start))
					}
				}
			})
			f.wantPages(other, start+1000, func() {})
		},
	},
}

func checkLanes(lanes []task.LaneHead, until task.Millis, heads []*task.Task) error {
	bound := map[task.Lane]task.Millis{}
	for _, l := range lanes {
		if _, twice := bound[l.Lane]; twice {
			return fmt.Errorf("the lanes name %+v twice", l.Lane)
		}
		if l.Due > until {
			return fmt.Errorf("the lanes until %d name %+v at %d", until, l.Lane, l.Due)
		}
		bound[l.Lane] = l.Due
	}
	if !slices.IsSortedFunc(lanes, func(a, b task.LaneHead) int { return cmp.Compare(a.Due, b.Due) }) {
		return fmt.Errorf("the lanes are not in the order of their heads: %+v", lanes)
	}
	for _, t := range heads {
		if due, ok := bound[t.Lane()]; !ok || due > t.Due {
			return fmt.Errorf("the lanes until %d: %q is due at %d, its lane's head is reported at %d (named: %v)", until, t.Name, t.Due, due, ok)
		}
	}
	return nil
}

// wantPages fails the case unless the pages of a namespace name the lanes of
// these tasks. between is called between two pages.
func (f *fixture) wantPages(tasks []*task.Task, until task.Millis, between func()) {
	f.Helper()
	namespace, named := tasks[0].Namespace, map[task.Lane]task.Millis{}
	read := store.LanePageRead{Namespace: namespace, Limit: 3}
	for last := false; !last; between() {
		pages, err := f.store.LanePages(f.Context(), until, []store.LanePageRead{read})
		if err != nil || len(pages) != 1 {
			f.Fatalf("LanePages: %d pages, error %v", len(pages), err)
		}
		for _, h := range pages[0].Heads {
			if h.Lane.Namespace != namespace || h.Due > until {
				f.Fatalf("a page of %q until %d names %+v at %d", namespace, until, h.Lane, h.Due)
			}
			named[h.Lane] = h.Due
		}
		read.From, last = pages[0].Next, pages[0].Last
	}
	for _, t := range tasks {
		if due, ok := named[t.Lane()]; !ok || due > t.Due {
			f.Fatalf("the pages of %q name the lane of %q, due at %d: %v, at %d", namespace, t.Name, t.Due, ok, due)
		}
	}
}
