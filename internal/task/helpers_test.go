package task

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// t0 is the start of every test.
const t0 Millis = 1_800_000_000_000

const minute Millis = 60_000

var policy = Policy{KeepFinished: time.Hour, KeepDead: 30 * time.Hour}

var facts = Facts{Policy: policy}

// validSpec returns a spec that is due a minute after t0.
func validSpec(edits ...func(*Spec)) Spec {
	s := DefaultSpec()
	s.Name, s.ID = "a", "id-1"
	s.When = When{Relative: true, Delay: time.Minute}
	s.Request.URL = "https://receiver.example/hook"
	s.Request.BodyKind, s.Request.Body = TextBody, []byte("body")
	for _, edit := range edits {
		edit(&s)
	}
	if err := s.Validate(t0); err != nil {
		panic(err)
	}
	return s
}

// calling makes a spec of a kind, with arguments.
func calling(kind string) func(*Spec) {
	return func(s *Spec) { s.Request = Request{Kind: kind, BodyKind: JSONBody, Body: []byte(`{"order":42}`)} }
}

func withSecondID(s *Spec) { s.ID, s.Request.Body = "id-2", []byte("another body") }

// apply carries out a change that must succeed.
func apply(t *testing.T, now Millis, old *Task, c Change) *Task {
	t.Helper()
	r, err := c.Apply(now, old, facts)
	if err != nil {
		t.Fatalf("%T: %v", c, err)
	}
	return r.Task
}

func create(t *testing.T, edits ...func(*Spec)) *Task {
	t.Helper()
	return apply(t, t0, nil, Create{Spec: validSpec(edits...)})
}

// claim claims old when it is due.
func claim(t *testing.T, now Millis, old *Task, token Token) *Task {
	t.Helper()
	r, err := Claim{Key: old.Key(), Lane: old.Lane(), Token: token, Until: now + minute}.Apply(now, old, facts)
	if err != nil {
		t.Fatalf("claim: %v", err)
	}
	return r.Task
}

// settle ends the lease that old has.
func settle(t *testing.T, now Millis, old *Task, o Outcome) *Task {
	t.Helper()
	r, err := Settlement{Key: old.Key(), Token: old.Lease.Token, Outcome: o}.Apply(now, old, facts)
	if err != nil {
		t.Fatalf("settle: %v", err)
	}
	return r.Task
}

// attempt claims and settles old at once, when it is due.
func attempt(t *testing.T, old *Task, o Outcome) *Task {
	t.Helper()
	return settle(t, old.Due, claim(t, old.Due, old, "token"), o)
}

// oneOfEachState returns a task in each state, reached by transitions alone.
func oneOfEachState(t *testing.T) map[string]*Task {
	t.Helper()
	waits := create(t)
	runs := claim(t, waits.Due, waits, "token")
	return map[string]*Task{
		"absent":     nil,
		"scheduled":  waits,
		"running":    runs,
		"superseded": apply(t, runs.Due, runs, Replace{Spec: validSpec(withSecondID)}),
		"dead":       settle(t, runs.Due, runs, Outcome{Verdict: Refusal, Reason: "gone", Status: 410}),
		"delivered":  settle(t, runs.Due, runs, Outcome{Verdict: Success, Status: 200}),
		"cancelled":  apply(t, t0, waits, Cancel{Key: waits.Key()}),
		"expired":    expired(t),
	}
}

func expired(t *testing.T) *Task {
	t.Helper()
	waits := create(t, func(s *Spec) { s.ExpireAfter = time.Second })
	now := waits.Due + 1001
	r, err := Claim{Key: waits.Key(), Lane: waits.Lane(), Token: "token", Until: now + 1}.Apply(now, waits, facts)
	if !errors.Is(err, ErrExpired) {
		t.Fatalf("claim of an expired task: %v", err)
	}
	return r.Task
}

func diff(want, got any) string { return cmp.Diff(want, got, cmpopts.EquateEmpty()) }

func ptr[T any](v T) *T { return &v }
