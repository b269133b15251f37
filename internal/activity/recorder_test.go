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
	oldest := stepOf(now) - (steps-1)*step
	for _, namespace := range []string{"", "a", "b"} {
		for _, from := range []task.Millis{0, now - 100*step - 7} {
			want := map[task.Millis]figures{}
			at := func(m task.Millis) figures {
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
	if list, since := r.Recent(Filter{Limit: 10_000}); len(list) != 501 || since != start+4999 {
		t.Errorf("%d are kept, complete after start+%d", len(list), since-start)
	}
	if _, since := r.Recent(Filter{Namespace: "a", Limit: 1}); since != start-1 {
		t.Errorf("the attempts of a are complete after start+%d", since-start)
	}
	want := attempt{
		EndedAt: start, Namespace: "a", Queue: "default", Name: "bad", Destination: "receiver.example:443", Number: 1, Outcome: "failed",
		Status: 500, Error: "e", Detail: "d", Late: 1, Latency: 2, Died: true, Reason: "gone",
	}
	for _, f := range []Filter{{Namespace: "a", Limit: 9}, {Outcomes: []string{"refused", "failed"}, Limit: 9}} {
		got, _ := r.Recent(f)
		if diff := cmp.Diff([]attempt{want}, got); diff != "" {
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
	for i := range 2*kept + 7 {
		bad := task.Outcome{Verdict: task.Refusal}
		r.Note(start+task.Millis(i)*20, claimed("a", fmt.Sprint(i)), &bad, in(task.Dead))
	}
	list, since := r.Recent(Filter{Limit: 10_000})
	if len(list) != kept || since != list[kept-1].EndedAt-20 || list[0].Name != fmt.Sprint(2*kept+6) || list[kept-1].Name != fmt.Sprint(kept+7) {
		t.Errorf("%d from %s to %s, complete after start+%d", len(list), list[0].Name, list[len(list)-1].Name, since-start)
	}
	if list, _ = r.Recent(Filter{Limit: 3}); len(list) != 3 || list[2].Name != fmt.Sprint(2*kept+4) {
		t.Errorf("%+v", list)
	}
}

// A quiet namespace next to busy ones keeps its attempts, and the list knows from
// which time on it is complete.
func TestRecentAttemptsAreThoseOfANaiveList(t *testing.T) {
	g := rand.New(rand.NewPCG(3, 4))
	r, now := New(start), start
	var all []attempt
	for n := range 30_000 {
		now += task.Millis(g.IntN(12))
		namespace := "busy"
		switch g.IntN(400) {
		case 0:
			namespace = "quiet"
		case 1, 2:
			namespace = fmt.Sprint("n", g.IntN(3000))
		}
		o, after := task.Outcome{Verdict: task.Success}, in(task.Delivered)
		if g.IntN(3) == 0 {
			o.Verdict = task.Failure
		}
		c := claimed(namespace, fmt.Sprint(n))
		r.Note(now, c, &o, after)
		all = append(all, attemptOf(now, c, &o, after))
		if n%500 != 0 {
			continue
		}
		for _, f := range []Filter{{}, {Namespace: "busy"}, {Namespace: "quiet"}, {Namespace: "n7"}} {
			f.Limit = len(all)
			got, since := r.Recent(f)
			kept := map[string]bool{}
			for _, a := range got {
				kept[a.Name] = true
			}
			for _, a := range all {
				if (f.Namespace == "" || a.Namespace == f.Namespace) && a.EndedAt > since && !kept[a.Name] {
					t.Fatalf("%q: attempt %s, which ended after start+%d, is missing", f.Namespace, a.Name, since-start)
				}
			}
			if f.Namespace == "quiet" && since >= start {
				t.Fatalf("attempts of a quiet namespace are only complete after start+%d", since-start)
			}
		}
	}
	if n := r.delivered.total + r.others.total; n > 2*kept {
		t.Errorf("%d attempts are kept", n)
	}
}

func TestAttemptsOfManyNamespacesTakeBoundedMemoryAndTime(t *testing.T) {
	r := New(start)
	ok := task.Outcome{Verdict: task.Success}
	for i := range 100_000 {
		r.Note(start+task.Millis(i/10), claimed(fmt.Sprint("n", i), "x"), &ok, in(task.Delivered))
	}
	if n := r.delivered.total; n != kept || len(r.delivered.lists) != kept {
		t.Errorf("%d attempts of %d namespaces are kept", n, len(r.delivered.lists))
	}
}
