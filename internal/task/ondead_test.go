package task

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestADeathCreatesTheTaskOfOnDead(t *testing.T) {
	made := create(t, func(s *Spec) { s.OnDead, s.Retry.MaxAttempts = "https://ops.example/dead?x=1", 1 })
	runs := claim(t, made.Due, made, "x")
	r, err := Settlement{Key: runs.Key(), Token: "x", Outcome: Outcome{Verdict: Failure, Status: 500, Error: "boom", Detail: "for operators alone"}}.Apply(made.Due+5, runs, facts)
	if err != nil || r.Task.State != Dead || r.Spawned == nil || r.Task.History[0].Detail != "for operators alone" {
		t.Fatalf("%+v, %v", r, err)
	}
	n := r.Spawned
	if n.Name != "a@dead.id-1.1" || n.Namespace != "default" || n.Queue != DeadQueue || n.Due != made.Due+5 || n.State != Scheduled || n.OnDead != "" {
		t.Errorf("%+v", n)
	}
	if n.Request.URL != made.OnDead || n.Request.Destination != "ops.example:443" || n.Request.BodySize != len(n.Request.Body) || n.ID == made.ID {
		t.Errorf("%+v", n.Request)
	}
	const want = `{"type":"task.dead","timestamp":"2027-01-15T08:01:00.005Z","data":{"namespace":"default","name":"a","id":"id-1","queue":"default",` +
		`"url":"https://receiver.example/hook","reason":"attempts_exhausted","due_at":"2027-01-15T08:01:00Z","attempts":1,"status":500,"error":"boom"}}`
	if diff := cmp.Diff(want, string(n.Request.Body)); diff != "" {
		t.Error(diff)
	}
	calls := create(t, calling("close-order"), func(s *Spec) { s.OnDead = made.OnDead })
	runs = claim(t, calls.Due, calls, "x")
	r, err = Settlement{Key: runs.Key(), Token: "x", Outcome: Outcome{Verdict: Refusal}}.Apply(calls.Due, runs, facts)
	if err != nil || r.Spawned == nil || !strings.Contains(string(r.Spawned.Request.Body), `"queue":"default","kind":"close-order","reason"`) {
		t.Errorf("the death of a task of a kind: %+v, %v", r.Spawned, err)
	}
	silent := create(t, func(s *Spec) { s.Retry.MaxAttempts = 1 })
	runs = claim(t, silent.Due, silent, "x")
	if r, _ := (Settlement{Key: runs.Key(), Token: "x", Outcome: Outcome{Verdict: Refusal}}).Apply(made.Due, runs, facts); r.Spawned != nil {
		t.Errorf("%+v", r.Spawned)
	}
}
