package settings

import (
	"errors"
	"testing"

	"github.com/foliot/foliot/internal/task"
)

func TestNoNamespaceIsCalledAsOperatorsAre(t *testing.T) {
	var refused *task.FieldError
	if err := (&NamespaceSettings{Name: "operator"}).Validate(); !errors.As(err, &refused) || refused.Path != "namespace" {
		t.Errorf("got %v", err)
	}
	if err := (&NamespaceSettings{Name: "operators"}).Validate(); err != nil {
		t.Error(err)
	}
}

func TestQuotasRefuseOnlyWhatMakesMore(t *testing.T) {
	n := &NamespaceSettings{Name: "default", MaxPending: 2, MaxBytes: 0}
	fresh := create(t) // a body of 4 bytes
	n.MaxBytes = 2*fresh.Stored() + 2
	var full, room task.Counts
	full.States[task.Scheduled], full.Bytes = 2, 2*fresh.Stored()
	room.States[task.Running], room.Bytes = 1, fresh.Stored()
	cancelled := apply(t, t0, fresh, task.Cancel{Key: fresh.Key()})
	bigger := apply(t, t0, fresh, task.Patch{Key: fresh.Key(), Body: &task.Body{Kind: task.TextBody, Bytes: []byte("1234567890")}})
	for _, c := range []struct {
		name   string
		have   task.Counts
		old, t *task.Task
		quota  string
	}{
		{"room for one", room, nil, fresh, ""},
		{"no room", full, nil, fresh, task.QuotaPending},
		{"a cancel frees", full, fresh, cancelled, ""},
		{"a finished name used again", full, cancelled, fresh, task.QuotaPending},
		{"a patch of the body", full, fresh, bigger, task.QuotaBytes},
		{"a patch that makes no more", full, bigger, fresh, ""},
	} {
		limits := n.Quota(c.have)
		err := limits.Admit(c.old, c.t)
		var quota *task.QuotaError
		if errors.As(err, &quota) != (c.quota != "") || quota != nil && quota.Quota != c.quota {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	none := (*NamespaceSettings)(nil).Quota(full)
	if err := none.Admit(nil, fresh); err != nil {
		t.Error(err)
	}
}

func TestANamespaceGoesWithAllThatWasDecidedOfIt(t *testing.T) {
	s := edit(t, t0, NewSettings(), PutNamespace{Settings: NamespaceSettings{Name: "n", MaxPending: 5}})
	s = edit(t, t0, s, PutQueue{Queue: QueueSettings{Namespace: "n", Name: "q"}})
	s = edit(t, t0, s, AddSecret{Namespace: "n", ID: "a", Secret: MintSecret()})
	s = edit(t, t0, s, AddSecret{Namespace: "n", Queue: "q", ID: "b", Secret: MintSecret()})
	_, hash := MintToken()
	s = edit(t, t0, s, AddToken{Namespace: "n", Scope: ScopeRead, Hash: hash})
	_ = refused[*BusyError](t, t0, s, DropNamespace{Name: "n"})
	s = edit(t, t0, s, RevokeToken{Namespace: "n", ID: hash[:16]})
	stale := task.Precondition{IfMatch: []string{s.Namespace("n").ETag()}}
	s = edit(t, t0, s, PutNamespace{Settings: NamespaceSettings{Name: "n", MaxPending: 6}})
	if _, err := (DropNamespace{Name: "n", If: stale}).Apply(t0, s); !errors.Is(err, task.ErrPrecondition) {
		t.Errorf("a delete of an old version: %v", err)
	}
	s = edit(t, t0, s, DropNamespace{Name: "n", If: task.Precondition{IfMatch: []string{s.Namespace("n").ETag()}}})
	if s.Namespace("n") != nil || len(s.List(QueueKind, "")) != 0 || len(s.AllSecrets("n", t0)) != 0 {
		t.Error("something of it was left")
	}
	if s.Namespace("default") == nil {
		t.Error("the default namespace is always there")
	}
	_ = refused[*BusyError](t, t0, s, DropNamespace{Name: "default"})
	s = edit(t, t0, s, PutNamespace{Settings: NamespaceSettings{Name: "default", MaxPending: 5}})
	_ = refused[*BusyError](t, t0, s, DropNamespace{Name: "default"})
	_ = refused[*MissingError](t, t0, s, DropNamespace{Name: "n"})
}
