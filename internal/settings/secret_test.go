package settings

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/task"
)

// signing returns the ids of the secrets that sign a queue's callbacks.
func signing(s *Settings, namespace, queue string, now task.Millis) (ids []string) {
	for _, secret := range s.Secrets(namespace, queue, now) {
		ids = append(ids, secret.ID)
	}
	return ids
}

func TestTwoSecretsSignDuringARotation(t *testing.T) {
	ids := func(s *Settings, now task.Millis) []string { return signing(s, "default", "", now) }
	add := func(id string, overlap task.Millis) AddSecret {
		return AddSecret{Namespace: "default", ID: id, Secret: MintSecret(), Overlap: overlap}
	}
	s := edit(t, t0, NewSettings(), add("a", 0))
	s = edit(t, t0+1, s, add("b", minute))
	if got := ids(s, t0+2); !slices.Equal(got, []string{"b", "a"}) {
		t.Errorf("during the rotation %v sign", got)
	}
	_ = refused[*BusyError](t, t0+2, s, add("c", minute))
	if got := ids(s, t0+1+minute); !slices.Equal(got, []string{"b"}) {
		t.Errorf("after it %v sign", got)
	}
	s = edit(t, t0+1+minute, s, add("c", 0))
	if got := ids(s, t0+2+minute); !slices.Equal(got, []string{"c", "b"}) || len(s.List(SecretKind, "default")) != 2 {
		t.Errorf("%v sign", got)
	}
	s = edit(t, t0, s, DropSecret{Namespace: "default", ID: "b"})
	_ = refused[*MissingError](t, t0, s, DropSecret{Namespace: "default", ID: "b"})
	if got := ids(s, t0+2+minute); !slices.Equal(got, []string{"c"}) {
		t.Errorf("%v sign", got)
	}
}

func TestAQueueWithASecretOfItsOwnIsSignedWithItAlone(t *testing.T) {
	add := func(queue, id string, overlap task.Millis) AddSecret {
		return AddSecret{Namespace: "default", Queue: queue, ID: id, Secret: MintSecret(), Overlap: overlap}
	}
	s := edit(t, t0, NewSettings(), add("", "all", 0))
	s = edit(t, t0, s, add("billing", "b1", 0))
	s = edit(t, t0, s, add("mail", "m1", minute))
	expect := func(at task.Millis, queue string, want ...string) {
		t.Helper()
		if got := signing(s, "default", queue, at); !slices.Equal(got, want) {
			t.Errorf("%d ms on, %q: %v sign, want %v", at-t0, queue, got, want)
		}
	}
	expect(t0, "billing", "b1") // the namespace's secret stops at once: the other receivers know it
	expect(t0, "mail", "m1", "all")
	expect(t0+minute, "mail", "m1")
	expect(t0, "other", "all")
	expect(t0, "", "all")
	if got := signing(s, "acme", "billing", t0); got != nil {
		t.Errorf("another namespace's queue of that name: %v", got)
	}

	s = edit(t, t0+1, s, add("mail", "m2", minute/2)) // a rotation before the first one's overlap is over
	expect(t0+2, "mail", "m2", "m1", "all")
	expect(t0+1+minute/2, "mail", "m2", "all")
	expect(t0+minute, "mail", "m2")
	_ = refused[*BusyError](t, t0+2, s, add("mail", "m3", 0))

	s = edit(t, t0, s, PutQueue{Queue: QueueSettings{Namespace: "default", Name: "mail", Rate: 1}})
	s = edit(t, t0, s, DropQueue{Namespace: "default", Name: "mail"}) // this removes limits, not secrets
	expect(t0+minute, "mail", "m2")
	s = edit(t, t0, s, DropSecret{Namespace: "default", Queue: "mail", ID: "m2"})
	expect(t0+minute, "mail", "all")
	_ = refused[*MissingError](t, t0, s, DropSecret{Namespace: "default", ID: "b1"}) // the secret belongs to the queue
	_ = refused[*task.FieldError](t, t0, s, add("no/name", "x", 0))
}

func TestQueuesWithSecretsAreBounded(t *testing.T) {
	var records []Setting
	for i := range MaxSecretQueues {
		records = append(records, &SigningSecret{ID: "i", Namespace: "default", Queue: fmt.Sprint("q", i), Secret: MintSecret(), CreatedAt: t0})
	}
	s := NewSettings(records...)
	_ = refused[*BusyError](t, t0, s, AddSecret{Namespace: "default", Queue: "one-more", ID: "x", Secret: MintSecret()})
	edit(t, t0, s, AddSecret{Namespace: "default", Queue: "q7", ID: "x", Secret: MintSecret()})
	edit(t, t0, s, AddSecret{Namespace: "default", ID: "x", Secret: MintSecret()})
}

func TestTheAuditLogSaysWhoseASecretIs(t *testing.T) {
	e := AddSecret{Namespace: "default", Queue: "billing", ID: "b", Secret: MintSecret()}
	changes, err := e.Apply(t0, NewSettings())
	fatal.If(t, err)
	entry, ok := AuditEdit(t0, Actor{}, e, changes)
	if !ok || entry.Namespace != "default" || entry.Target != "b" || !strings.Contains(entry.Detail, "billing") {
		t.Errorf("%+v", entry)
	}
}
