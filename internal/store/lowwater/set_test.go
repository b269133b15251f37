package lowwater

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/foliot/foliot/internal/task"
)

func TestAnEntryAddedDuringAReadIsNotSkipped(t *testing.T) {
	lane := task.Lane{Namespace: "ns", Queue: "q", Destination: "host:80"}
	early := task.Entry{Lane: lane, Due: 5, Name: "early"}
	s := New()
	s.Added([]task.Entry{{Lane: lane, Due: 1, Name: "a"}})

	s.Begin(lane) // and its snapshot has only an entry at 9
	s.Added([]task.Entry{early})
	s.End(lane, Finding{Conclusive: true, Head: task.Position{Due: 9}})
	if low, ok := s.Begin(lane); !ok || early.Position().Less(low) {
		t.Errorf("the mark went to %v, %v: over the entry at 5", low, ok)
	}
	s.End(lane, Finding{Conclusive: true, Head: early.Position()})

	s.Begin(lane) // and its snapshot is empty
	s.Added([]task.Entry{early})
	s.End(lane, Finding{Conclusive: true, Empty: true})
	if low, ok := s.Begin(lane); !ok || early.Position().Less(low) {
		t.Errorf("the lane was found Empty: mark %v, %v", low, ok)
	}
}

// index is a lane's index with its mark. Its writer applies entries and then
// passes them to Added. Its readers begin, take a snapshot and end, in any
// order.
type index struct {
	set      *Set
	lane     task.Lane
	applied  []task.Position // the index, in order
	unmarked []task.Entry    // applied, and not yet passed to the set or confirmed to the writer's caller
	reads    []*read
}

type read struct {
	low  task.Position
	snap []task.Position // nil: not yet taken
}

func (x *index) entry(p task.Position) task.Entry {
	return task.Entry{Lane: x.lane, Due: p.Due, Name: p.Name}
}

func (x *index) apply(t *rapid.T) {
	p := task.Position{Due: task.Millis(rapid.IntRange(0, 9).Draw(t, "due"))}
	if at, there := slices.BinarySearchFunc(x.applied, p, compare); !there {
		x.applied = slices.Insert(x.applied, at, p)
		x.unmarked = append(x.unmarked, x.entry(p))
	}
}

func (x *index) tell(*rapid.T) {
	x.set.Added(x.unmarked)
	x.unmarked = nil
}

func (x *index) remove(t *rapid.T) {
	if n := len(x.applied); n > 0 {
		i := rapid.IntRange(0, n-1).Draw(t, "which")
		x.applied = slices.Delete(x.applied, i, i+1)
	}
}

func (x *index) begin(*rapid.T) {
	if low, ok := x.set.Begin(x.lane); ok {
		x.reads = append(x.reads, &read{low: low})
	}
}

func (x *index) snapshot(t *rapid.T) {
	if n := len(x.reads); n > 0 {
		if r := x.reads[rapid.IntRange(0, n-1).Draw(t, "which")]; r.snap == nil {
			r.snap = append([]task.Position{}, x.applied...)
		}
	}
}

// end ends a read. A read without a snapshot has failed.
func (x *index) end(t *rapid.T) {
	if n := len(x.reads); n > 0 {
		i := rapid.IntRange(0, n-1).Draw(t, "which")
		x.set.End(x.lane, x.reads[i].find())
		x.reads = slices.Delete(x.reads, i, i+1)
	}
}

func (r *read) find() Finding {
	if r.snap == nil {
		return Finding{}
	}
	at, _ := slices.BinarySearchFunc(r.snap, r.low, compare)
	if at == len(r.snap) {
		return Finding{Conclusive: true, Empty: true}
	}
	return Finding{Conclusive: true, Head: r.snap[at]}
}

// check compares the mark with the index.
func (x *index) check(t *rapid.T) {
	for _, p := range x.applied {
		if e := x.entry(p); !slices.Contains(x.unmarked, e) && (!x.set.Covers(e) || !slices.ContainsFunc(heads(x.set, p.Due), func(h task.LaneHead) bool { return h.Lane == e.Lane })) {
			t.Fatalf("the mark is above %+v", p)
		}
	}
}

// heads returns the lanes that may have an entry due at or before until.
func heads(s *Set, until task.Millis) (all []task.LaneHead) {
	for _, namespace := range s.Namespaces() {
		for left, more := 0, true; more; more = left > 0 {
			all, left = s.Page(all, namespace, until, left, 2)
		}
	}
	return all
}

func compare(a, b task.Position) int {
	switch {
	case a.Less(b):
		return -1
	case b.Less(a):
		return 1
	}
	return 0
}

func TestALowWaterMarkIsNeverAboveAnAnsweredEntry(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := &index{set: New(), lane: task.Lane{Namespace: "ns", Queue: "q"}}
		t.Repeat(map[string]func(*rapid.T){
			"": x.check, "apply": x.apply, "tell": x.tell, "remove": x.remove,
			"begin": x.begin, "snapshot": x.snapshot, "end": x.end,
		})
	})
}

func TestTheNextReadForgetsEmptiedLanes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := &index{set: New(), lane: task.Lane{Namespace: "ns", Queue: "q"}}
		t.Repeat(map[string]func(*rapid.T){
			"apply": x.apply, "tell": x.tell, "remove": x.remove,
			"begin": x.begin, "snapshot": x.snapshot, "end": x.end,
		})
		for x.tell(t); len(x.reads) > 0; {
			x.end(t)
		}
		x.applied = nil
		for range 2 { // the first read may have found a late Added
			x.begin(t)
			x.snapshot(t)
			x.end(t)
		}
		if heads := heads(x.set, 10); len(heads) > 0 {
			t.Errorf("an empty lane is left: %v", heads)
		}
	})
}
