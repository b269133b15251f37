package activity

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/foliot/foliot/internal/task"
)

const start task.Millis = 1_800_000_000_000

func claimed(namespace, name string) *task.Task {
	return &task.Task{Namespace: namespace, Name: name, Queue: "default", Attempts: 1, Request: task.Request{Destination: "receiver.example:443"}}
}

func in(state task.State) *task.Task { return &task.Task{State: state, Reason: "gone"} }

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
