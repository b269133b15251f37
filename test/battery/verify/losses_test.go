package verify

import (
	"testing"
	"time"
)

// A run's losses are those of the tasks that were promised since it began.
func TestLossesBelongToTheirRuns(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(seconds float64) time.Time { return start.Add(time.Duration(seconds * float64(time.Second))) }
	runs := []FailoverRun{{Began: at(0), At: at(1)}, {Began: at(10), At: at(11)}, {Began: at(20), At: at(21)}}
	e := Evidence{
		Accepted: []Accepted{
			{Name: "a", At: at(0.5)},
			{Name: "b", At: at(0.9)},
			{Name: "c", At: at(3)},
			{Name: "d", At: at(3.5)},
			{Name: "e", At: at(11.5)},
			{Name: "f", At: at(12)},
			{Name: "g", At: at(20)},
			{Name: "h", At: at(22)},
		},
		Cancelled: []Cancelled{{Name: "g", Status: 200, At: at(20.5)}},
		Arrived:   []Arrived{{Name: "a", At: at(4)}, {Name: "c", At: at(4)}, {Name: "d", At: at(4)}, {Name: "h", At: at(23)}, {Name: "h", At: at(24)}},
	}
	l := JudgeLosses("async", "kill -9", runs, e)
	if len(l.Lost) != 3 || l.hurt != 2 || l.worst != 2 {
		t.Errorf("lost %v in %d runs, %d in the worst; want b in the first and e, f in the second", l.Lost, l.hurt, l.worst)
	}
	for i, want := range []time.Duration{2 * time.Second, 500 * time.Millisecond, time.Second} {
		if l.runs[i].silence != want {
			t.Errorf("run %d: nothing was answered for %v, want %v", i, l.runs[i].silence, want)
		}
	}
	if l.Duplicates != 1 {
		t.Errorf("duplicates %d, want 1", l.Duplicates)
	}
}

// The control is judged apart from the runs before it.
func TestEvidenceIsSplitByTasks(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	before, after := at.Add(-time.Second), at.Add(time.Second)
	e := Evidence{
		Accepted:  []Accepted{{Name: "a", At: before}, {Name: "b", At: after}, {Name: "c", At: after}},
		Cancelled: []Cancelled{{Name: "a", Status: 200, At: after}, {Name: "b", Status: 200, At: after}},
		Arrived:   []Arrived{{Name: "a", At: after.Add(time.Second)}, {Name: "b", At: after.Add(time.Second)}, {Name: "unanswered", At: before}},
	}
	first, second := e.Split(at)
	if v := Check(first); v.Accepted != 1 || len(v.AfterCancel) != 1 || v.Arrived != 2 || len(v.Lost) != 0 {
		t.Errorf("of the first: %+v", v)
	}
	if v := Check(second); v.Accepted != 2 || len(v.AfterCancel) != 1 || v.Arrived != 1 || len(v.Lost) != 1 {
		t.Errorf("of the second: %+v", v)
	}
}
