package settings

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/foliot/foliot/internal/task"
)

func TestTheAuditLogSaysWhatChanged(t *testing.T) {
	who := Actor{By: "token:1 shop", Token: "1", Addr: "10.0.0.1"}
	created := task.Create{Spec: demand()}
	made, _ := created.Apply(t0, nil, facts)
	c := task.Cancel{Key: made.Task.Key()}
	r, _ := c.Apply(t0, made.Task, facts)
	if e, ok := AuditChange(t0, who, c, r); ok {
		t.Errorf("a change by a program: %+v", e)
	}
	who.Client = "page"
	got, ok := AuditChange(t0, who, c, r)
	want := AuditEntry{At: t0, By: "token:1 shop", Addr: "10.0.0.1", Namespace: "default", Action: "task.cancel", Target: "a", ID: "id-a", Version: 2, Detail: "from the page"}
	if diff := cmp.Diff(want, got); diff != "" || !ok {
		t.Error(ok, diff)
	}
	data, _ := json.Marshal(got)
	var back AuditEntry
	if err := json.Unmarshal(data, &back); err != nil || back != got {
		t.Errorf("%+v comes back as %+v, %v", got, back, err)
	}
	if _, ok := AuditChange(t0, who, created, made); ok {
		t.Error("a create has an entry")
	}
	if _, ok := AuditChange(t0, who, c, task.Result{Task: r.Task, Effect: task.Repeated, Already: true}); ok {
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
	for _, f := range []AuditFilter{{Namespace: "other"}, {Action: "task.touch"}, {Target: "b"}, {By: "token:1 sho"}, {From: t0 + 1}, {Until: t0}} {
		if f.Match(&want) {
			t.Errorf("%+v chooses it", f)
		}
	}
	for _, by := range []string{"token:1", "token:1 shop"} {
		if f := (AuditFilter{Namespace: "default", Action: "task.cancel", Target: "a", By: by, From: t0, Until: t0 + 1}); !f.Match(&want) {
			t.Errorf("all fields hold, by %s", by)
		}
	}
}
