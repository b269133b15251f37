package memstore_test

import (
	"slices"
	"testing"

	"github.com/foliot/foliot/internal/quick"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/memstore"
	"github.com/foliot/foliot/internal/store/storetest"
	"github.com/foliot/foliot/internal/task"
)

var config = memstore.Config{Policy: storetest.Policy, AuditKeep: storetest.AuditKeep}

func TestStore(t *testing.T) {
	storetest.Run(t, func(*testing.T) store.Store { return memstore.New(config) })
}

// TestTheReferenceEqualsItself proves the comparison, not the store: commands
// are reproducible, and Refill brings back the whole visible state.
func TestTheReferenceEqualsItself(t *testing.T) {
	storetest.Differential(t, storetest.Subject{
		Open:      func(*testing.T) store.Store { return memstore.New(config) },
		Reference: restore,
		Reopens:   []storetest.Reopen{{Name: "restore", Do: reopen}},
		Scripts:   quick.Of(20, 8),
	})
}

func restore(now task.Millis, c storetest.Contents) store.Store {
	return storetest.Refill(memstore.New(config), now, c)
}

// reopen copies the whole visible state into a new store.
func reopen(t *testing.T, s store.Store, now task.Millis) store.Store {
	var all []*task.Task
	for _, namespace := range []string{"default", "default2"} {
		l, err := storetest.DrainAll(t.Context(), s, namespace, task.Page{Limit: 100, Bodies: true})
		if err != nil {
			t.Fatalf("list %s: %v", namespace, err)
		}
		all = append(all, l...)
	}
	c := storetest.Contents{Records: all}
	for kind := settings.QueueKind; kind <= settings.SecretKind; kind++ {
		c.Settings = append(c.Settings, s.Standing().Settings.List(kind, "")...)
	}
	page, err := s.Audit(t.Context(), settings.AuditFilter{}, 0, 1000)
	if err != nil || page.Next != 0 {
		t.Fatalf("audit: %v, next %d", err, page.Next)
	}
	slices.Reverse(page.Entries)
	c.Audit = page.Entries
	return restore(now, c)
}
