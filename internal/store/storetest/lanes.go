package storetest

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/foliot/foliot/internal/fatal"
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
		"a lane is namespace, queue, priority and destination",
		"Tasks that differ in any of the four wait in different lanes, and each in its own only.",
		func(f *fixture) {
			made := []*task.Task{
				f.create("a"), f.create("b", queue("mail")), f.create("c", priority(task.High)),
				f.create("d", priority(task.Low)), f.create("e", url("https://receiver.example:8443/")),
				f.create("f", url("http://receiver.example/")), f.create("g", namespace("other")),
			}
			for _, t := range made {
				f.wantNames(fmt.Sprintf("lane %+v", t.Lane()), waiting(f.peek(t.Lane(), forever)), t.Name)
			}
			f.wantLanes(forever, made...)
		},
	},
	{
		"a lane is read in due order",
		"Entries are ordered by due time, then by name, and not by the order of creation.",
		func(f *fixture) {
			for _, c := range []struct {
				name string
				due  task.Millis
			}{{"d", 300}, {"b", 300}, {"z", 100}, {"a", 4000}, {"c", 300}, {"y", 256}, {"x", 255}} {
				f.create(c.name, at(start+c.due))
			}
			lane := f.get("a").Lane()
			f.wantNames("the lane", waiting(f.peek(lane, forever)), "z", "x", "y", "b", "c", "d", "a")
			for _, e := range f.peek(lane, forever) {
				if t := f.get(e.Name); e != t.Entry() {
					f.Errorf("entry %+v of a record with %+v", e, t.Entry())
				}
			}
		},
	},
	{
		"a lane is read in parts",
		"After is exclusive, Until inclusive, Limit a bound: parts that follow each other miss nothing and repeat nothing.",
		func(f *fixture) {
			var want []string
			for i := range 9 {
				name := fmt.Sprintf("t%d", i)
				f.create(name, at(start+task.Millis(i/3*10))) // three share an instant
				want = append(want, name)
			}
			lane := f.get("t0").Lane()
			for limit := 1; limit <= 10; limit++ {
				var got []string
				for after := (task.Position{}); ; {
					part := f.read(store.LaneRead{Lane: lane, After: after, Until: forever, Limit: limit})
					if len(part) > limit {
						f.Fatalf("a part of %d has %d entries", limit, len(part))
					}
					if len(part) == 0 {
						break
					}
					got, after = append(got, waiting(part)...), part[len(part)-1].Position()
				}
				f.wantNames(fmt.Sprintf("parts of %d", limit), got, want...)
			}
			f.wantNames("until", waiting(f.peek(lane, start+10)), want[:6]...)
			f.wantNames("until just before", waiting(f.peek(lane, start+9)), want[:3]...)
			f.wantNames("after an instant", waiting(f.read(store.LaneRead{Lane: lane, After: task.Position{Due: start + 10}, Until: forever, Limit: 9})), want[3:]...)
			f.wantNames("nothing between", waiting(f.read(store.LaneRead{Lane: lane, After: task.Position{Due: start + 10, Name: "t5"}, Until: start + 19, Limit: 9})))
		},
	},
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
					f.peek(lane, forever)
					if gone++; gone%8 == 0 {
						f.create(fmt.Sprintf("comes%d", gone), queue(fmt.Sprintf("comes%d", gone)), at(start))
					}
				}
			})
			f.wantPages(other, start+1000, func() {})
		},
	},
	{
		"a lane's head follows an earlier task",
		"A write below a lane's known head lowers it: created, moved, run, retried or given back.",
		func(f *fixture) {
			f.create("far", at(start+60_000))
			t := f.create("near", at(start+50_000))
			f.peek(t.Lane(), forever) // a cursor may now stand at start+50,000
			t = f.must(start, task.Patch{Key: tasktest.Key("far"), When: &task.When{At: start + 40_000}})
			f.wantHead(t)
			t = f.must(start, task.Run{Key: tasktest.Key("near")})
			f.wantHead(t)
			f.claim(start, t, "token")
			f.wantHead(f.get("far"))
			t = f.settle(start+1, t, "token", task.Outcome{Verdict: task.Failure})
			f.wantHead(t)
			f.wantHead(f.create("first", at(start-60_000)))
		},
	},
}

// wantLanes fails the case unless Lanes(until) names the lane of each head, at
// a time not after its due time, the earliest first, and each lane once. More
// lanes may be named.
func (f *fixture) wantLanes(until task.Millis, heads ...*task.Task) {
	f.Helper()
	lanes, err := store.LaneHeads(f.Context(), f.store, until)
	if err != nil {
		f.Fatalf("Lanes: %v", err)
	}
	fatal.If(f, checkLanes(lanes, until, heads))
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

// wantHead fails the case unless t is the first of its lane, and Lanes reports
// it.
func (f *fixture) wantHead(t *task.Task) {
	f.Helper()
	f.wantLanes(t.Due, t)
	f.wantNames("the lane's first", waiting(f.read(store.LaneRead{Lane: t.Lane(), Until: t.Due, Limit: 1})), t.Name)
}

// wantOnlyIn fails the case unless t waits in its own lane and in no other
// lane.
func (f *fixture) wantOnlyIn(t *task.Task, lanes []task.Lane) {
	f.Helper()
	for _, lane := range lanes {
		got := f.peek(lane, forever)
		switch {
		case lane != t.Lane() && len(got) > 0:
			f.Fatalf("%q moved to %+v and is still in %+v: %+v", t.Name, t.Lane(), lane, got)
		case lane == t.Lane() && !slices.Equal(got, []task.Entry{t.Entry()}):
			f.Fatalf("%q is at %+v, its lane has %+v", t.Name, t.Entry(), got)
		}
	}
}
