package activity

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/foliot/foliot/internal/task"
)

const start task.Millis = 1_800_000_000_000

func claimed(namespace, name string) *task.Task {
	return &task.Task{Namespace: namespace, Name: name, Queue: "default", Attempts: 1, Request: task.Request{Destination: "receiver.example:443"}}
}

func in(state task.State) *task.Task { return &task.Task{State: state, Reason: "gone"} }

// record is one call of Note.
type record struct {
	at        task.Millis
	namespace string
	outcome   task.Outcome
	after     *task.Task
}

// The model counts all records of each step again.
func TestTheHistoryAgreesWithACountOfAllAttempts(t *testing.T) {
	g := rand.New(rand.NewPCG(1, 2))
	r, now := New(start), start
	var all []record
	waiting := map[string]map[task.Millis]uint32{"": {}, "a": {}, "b": {}}
	for range 20_000 {
		now += task.Millis(g.IntN(700))
		if g.IntN(500) == 0 {
			now += task.Millis(g.IntN(int(3 * step)))
		}
		e := record{at: now, namespace: []string{"a", "b"}[g.IntN(2)]}
		e.outcome = task.Outcome{Verdict: task.Success + task.Verdict(g.IntN(6)), Late: time.Duration(g.ExpFloat64() * float64(time.Second))}
		if e.after = in(task.Delivered); g.IntN(9) == 0 {
			e.after = in(task.Dead)
		}
		if g.IntN(20) == 0 {
			e.after = nil
		}
		r.Note(e.at, claimed(e.namespace, "x"), &e.outcome, e.after)
		if all = append(all, e); g.IntN(50) == 0 {
			a, b := g.IntN(4), g.IntN(4)
			r.Overdue(now, map[string]int{"a": a, "b": b})
			at := stepOf(now)
			for namespace, n := range map[string]int{"": a + b, "a": a, "b": b} {
				waiting[namespace][at] = max(waiting[namespace][at], uint32(n))
			}
		}
	}
	oldest := stepOf(now) - (Steps-1)*step
	for _, namespace := range []string{"", "a", "b"} {
		for _, from := range []task.Millis{0, now - 100*step - 7} {
			want := map[task.Millis]Figures{}
			at := func(m task.Millis) Figures {
				f := want[stepOf(m)]
				f.At = stepOf(m)
				return f
			}
			for _, e := range all {
				if e.outcome.Verdict != task.Unsent && (namespace == "" || e.namespace == namespace) {
					f := at(e.at)
					f.add(&e.outcome, e.after)
					want[f.At] = f
				}
			}
			for m, n := range waiting[namespace] {
				if f := at(m); n > 0 {
					f.Overdue = n
					want[m] = f
				}
			}
			got, since := r.History(now, namespace, from)
			if since != oldest {
				t.Errorf("%q: since %d, want %d", namespace, since, oldest)
			}
			previous := task.Millis(0)
			for _, f := range got {
				if f.At <= previous || f.At < max(oldest, from) {
					t.Errorf("%q: step %d follows %d", namespace, f.At, previous)
				}
				if diff := cmp.Diff(want[f.At], f); diff != "" {
					t.Errorf("%q, step %d (-want +got):\n%s", namespace, f.At, diff)
				}
				previous = f.At
				delete(want, f.At)
			}
			for m := range want {
				if m >= max(oldest, from) {
					t.Errorf("%q: step %d is missing", namespace, m)
				}
			}
		}
	}
}

func TestTheHistoryBeginsWithTheServer(t *testing.T) {
	r := New(start + 1)
	if list, since := r.History(start+step, "", 0); len(list) != 0 || since != start {
		t.Errorf("%v since %d", list, since)
	}
}

func TestAClockThatIsSetBackCountsInThePresentStep(t *testing.T) {
	r := New(start)
	ok := task.Outcome{Verdict: task.Success}
	r.Note(start, claimed("a", "x"), &ok, in(task.Delivered))
	r.Note(start-5*step, claimed("a", "x"), &ok, in(task.Delivered))
	for _, namespace := range []string{"", "a"} {
		if list, _ := r.History(start, namespace, 0); len(list) != 1 || list[0].Delivered != 2 || list[0].At != start {
			t.Errorf("%q: %+v", namespace, list)
		}
	}
}

func TestAHistoryGoesOnAfterAClockThatWasFarAhead(t *testing.T) {
	r := New(start)
	ok := task.Outcome{Verdict: task.Success}
	r.Note(start+task.Millis(24*time.Hour/time.Millisecond), claimed("a", "x"), &ok, in(task.Delivered))
	r.Note(start+step, claimed("a", "x"), &ok, in(task.Delivered))
	r.Note(start+2*step, claimed("a", "x"), &ok, in(task.Delivered))
	for _, namespace := range []string{"", "a"} {
		if list, since := r.History(start+2*step, namespace, 0); len(list) != 2 || list[1].At != start+2*step || since != start+step {
			t.Errorf("%q: %+v since %d", namespace, list, since)
		}
	}
}

func TestManyNamespacesTakeBoundedMemory(t *testing.T) {
	r := New(start)
	ok := task.Outcome{Verdict: task.Success}
	for s := range task.Millis(20) {
		for i := range 1000 {
			r.Note(start+s*step, claimed(fmt.Sprint("n", i), "x"), &ok, in(task.Delivered))
		}
	}
	now := start + 20*step
	list, since := r.History(now, "n7", 0)
	if n := len(r.history.past); n != maxPast || len(list) != 10 || since <= list[0].At-step || since > list[1].At {
		t.Errorf("%d figures are kept; %d steps since %d", n, len(list), since)
	}
	if list, since := r.History(now, "", 0); len(list) != 20 || since != start {
		t.Errorf("all namespaces: %d steps since %d", len(list), since)
	}
}

func TestDeliveriesDoNotDisplaceFailures(t *testing.T) {
	r := New(start)
	good, bad := task.Outcome{Verdict: task.Success}, task.Outcome{Verdict: task.Failure, Status: 500, Error: "e", Detail: "d", Late: 1, Latency: 2}
	r.Note(start, claimed("a", "bad"), &bad, in(task.Dead))
	for i := range task.Millis(5000) {
		r.Note(start+i, claimed("b", fmt.Sprint("good-", i)), &good, in(task.Delivered))
	}
	list, missed := r.Recent(Filter{Limit: 10_000})
	if len(list) != 501 || missed != 4500 {
		t.Errorf("%d are kept, %d missed", len(list), missed)
	}
	want := Attempt{
		EndedAt: start, Namespace: "a", Queue: "default", Name: "bad", Destination: "receiver.example:443", Number: 1, Outcome: Failed,
		Status: 500, Error: "e", Detail: "d", Late: 1, Latency: 2, Died: true, Reason: "gone",
	}
	for _, f := range []Filter{{Namespace: "a", Limit: 9}, {Outcomes: []string{Refused, Failed}, Limit: 9}} {
		got, _ := r.Recent(f)
		if diff := cmp.Diff([]Attempt{want}, got); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", f, diff)
		}
	}
	for _, f := range []Filter{{Queue: "other", Limit: 9}, {Namespace: "a", Since: start + 1, Limit: 9}} {
		if got, _ := r.Recent(f); len(got) != 0 {
			t.Errorf("%+v: %+v", f, got)
		}
	}
}

func TestTheLatestAttemptsAreKept(t *testing.T) {
	r := New(start)
	for i := range 2*Kept + 7 {
		bad := task.Outcome{Verdict: task.Refusal}
		r.Note(start+task.Millis(i)*20, claimed("a", fmt.Sprint(i)), &bad, in(task.Dead))
	}
	list, missed := r.Recent(Filter{Limit: 10_000})
	if len(list) != Kept || missed != 0 || list[0].Name != fmt.Sprint(2*Kept+6) || list[Kept-1].Name != fmt.Sprint(Kept+7) {
		t.Errorf("%d from %s to %s, missed %d", len(list), list[0].Name, list[len(list)-1].Name, missed)
	}
	if list, _ = r.Recent(Filter{Limit: 3}); len(list) != 3 || list[2].Name != fmt.Sprint(2*Kept+4) {
		t.Errorf("%+v", list)
	}
}

func BenchmarkNote(b *testing.B) {
	r, t, after := New(start), claimed("a", "x"), in(task.Delivered)
	ok := task.Outcome{Verdict: task.Success, Late: time.Millisecond}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		r.Note(start+task.Millis(i/20), t, &ok, after) // 20,000 a second
	}
}
