package settings

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/foliot/foliot/internal/task"
)

func TestTheAuditLogSaysWhatChanged(t *testing.T) {
	who := Actor{By: "token:1", Addr: "10.0.0.1"}
	c := task.Create{Spec: demand()}
	r, _ := c.Apply(t0, nil, facts)
	got, ok := AuditChange(t0, who, c, r)
	want := AuditEntry{At: t0, By: "token:1", Addr: "10.0.0.1", Namespace: "default", Action: "task.create", Target: "a", ID: "id-1", Version: 1}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" || !ok {
		t.Error(ok, diff)
	}
	if _, ok := AuditChange(t0, who, c, task.Result{Task: r.Task, Effect: task.Repeated}); ok {
		t.Error("a repeat changed nothing")
	}
	e := PauseQueue{Namespace: "default", Name: "q", Paused: true}
	changes, _ := e.Apply(t0, NewSettings())
	if got, ok := AuditEdit(t0, who, e, changes); !ok || got.Action != "queue.pause" || got.Target != "q" || got.Version != 1 {
		t.Errorf("%+v, %v", got, ok)
	}
	if _, ok := AuditEdit(t0, who, UseToken{}, changes); ok {
		t.Error("a use is no mutation")
	}
	for _, f := range []AuditFilter{{Namespace: "other"}, {Action: "task.touch"}, {Target: "b"}, {By: "x"}, {From: t0 + 1}, {Until: t0}} {
		if f.Match(&want) {
			t.Errorf("%+v chooses it", f)
		}
	}
	if f := (AuditFilter{Namespace: "default", Action: "task.create", Target: "a", By: "token:1", From: t0, Until: t0 + 1}); !f.Match(&want) {
		t.Error("all fields hold")
	}
}
