package redisstore

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/quick"
	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// twoNodes returns two nodes on one store.
func twoNodes(t *testing.T, cluster bool) (a, b *Store) {
	t.Helper()
	addrs := []string{}
	if cluster {
		addrs = redistest.NewCluster(t, 3, 0).Addrs()
	} else {
		addrs = append(addrs, redistest.New(t).Addr)
	}
	return openNode(t, "a", addrs...), openNode(t, "b", addrs...)
}

// decideOn applies one edit.
func decideOn(t *testing.T, s *Store, e settings.Edit) error {
	t.Helper()
	replies, err := s.Configure(t.Context(), task.CeilMillis(time.Now()), []settings.Edit{e})
	fatal.If(t, err)
	return replies[0].Err
}

// makeIn creates a task in a namespace.
func makeIn(t *testing.T, s *Store, namespace, name string) error {
	t.Helper()
	now := task.CeilMillis(time.Now())
	spec := specOf(name, now.Add(time.Hour))
	spec.Namespace = namespace
	return transit(t, s, now, store.Changes([]task.Change{task.Create{Spec: spec}}))
}

// stale gives a node the settings from before the changes of another node, as
// if its next poll had not run yet.
func stale(s *Store, before *configuration) {
	s.configuring.Lock()
	defer s.configuring.Unlock()
	s.settings.Store(before)
}

func TestANodeWithOldSettingsCreatesNothingInARemovedNamespace(t *testing.T) {
	t.Parallel()
	a, b := twoNodes(t, false)
	fatal.If(t, decideOn(t, b, settings.PutNamespace{Settings: settings.NamespaceSettings{Name: "acme"}}))
	before := b.settings.Load()
	fatal.If(t, decideOn(t, a, settings.DropNamespace{Name: "acme"}))
	stale(b, before)
	wantRemoved(t, b, "acme")
	if err := makeIn(t, b, "default", "other"); err != nil {
		t.Errorf("a create in another namespace: %v", err)
	}
	counts, err := b.Counts(t.Context())
	if key := (task.QueueKey{Namespace: "acme", Queue: "default"}); err != nil || counts[key].States[task.Scheduled] != 0 {
		t.Errorf("the namespace has %+v, %v", counts[key], err)
	}
}

func TestACreateOnAnotherNodeEndsARemoval(t *testing.T) {
	t.Parallel()
	a, b := twoNodes(t, false)
	fatal.If(t, decideOn(t, a, settings.PutNamespace{Settings: settings.NamespaceSettings{Name: "acme"}}))
	if err := decideOn(t, a, settings.CloseNamespace{Name: "acme", Mark: "m"}); err != nil { // and the node dies
		t.Fatal(err)
	}
	fatal.If(t, a.raiseFences(t.Context()))
	fatal.If(t, b.reload(t.Context()))
	if err := makeIn(t, b, "acme", "x"); err != nil {
		t.Errorf("a create after a removal that broke off: %v", err)
	}
	var busy *settings.BusyError
	if err := decideOn(t, a, settings.DropNamespace{Name: "acme", Closing: "m"}); !errors.As(err, &busy) {
		t.Errorf("the removal goes on: %v", err)
	}
}

func TestNoNodeRemovesANamespaceThatHasATask(t *testing.T) {
	quick.Leave(t, "starts several servers")
	t.Parallel()
	for _, cluster := range []bool{false, true} {
		t.Run(map[bool]string{false: "one server", true: "cluster"}[cluster], func(t *testing.T) {
			a, b := twoNodes(t, cluster)
			removed, kept := 0, 0
			for i := range 60 {
				name := fmt.Sprint("space", i)
				fatal.If(t, decideOn(t, a, settings.PutNamespace{Settings: settings.NamespaceSettings{Name: name}}))
				fatal.If(t, b.reload(t.Context()))
				var made, gone error
				var both sync.WaitGroup
				both.Go(func() {
					for range i % 12 { // at a different point of the removal each time
						_, _ = b.Get(t.Context(), task.Key{Namespace: name, Name: "x"})
					}
					made = makeIn(t, b, name, "x")
				})
				both.Go(func() { gone = decideOn(t, a, settings.DropNamespace{Name: name}) })
				both.Wait()
				_, err := a.Get(t.Context(), task.Key{Namespace: name, Name: "x"})
				switch {
				case made == nil && gone != nil && err == nil:
					kept++
				case made != nil && gone == nil && errors.Is(err, task.ErrNotFound):
					removed++
				default:
					t.Fatalf("round %d: the create: %v, the removal: %v, the task: %v", i, made, gone, err)
				}
			}
			t.Logf("%d removed, %d kept", removed, kept)
		})
	}
}

// TestManyNodesCreateOnlyOneFirstToken: nodes share no lock, so the servers
// must decide.
func TestManyNodesCreateOnlyOneFirstToken(t *testing.T) {
	r := redistest.New(t)
	nodes := []*Store{openNode(t, "a", r.Addr), openNode(t, "b", r.Addr), openNode(t, "c", r.Addr)}
	var made atomic.Int64
	var all sync.WaitGroup
	for i := range 10 {
		_, hash := settings.MintToken()
		first := settings.AddToken{Namespace: settings.AllNamespaces, Scope: settings.ScopeAdmin, Hash: hash, First: true}
		all.Go(func() {
			replies, err := nodes[i%len(nodes)].Configure(t.Context(), 1, []settings.Edit{first})
			switch {
			case err != nil:
				t.Errorf("Configure: %v", err)
			case replies[0].Err == nil:
				made.Add(1)
			case !errors.Is(replies[0].Err, settings.ErrSecured):
				t.Errorf("AddToken: %v", replies[0].Err)
			}
		})
	}
	all.Wait()
	again := openNode(t, "d", r.Addr)
	if kept := len(again.Standing().Settings.List(settings.TokenKind, "")); made.Load() != 1 || kept != 1 {
		t.Errorf("%d first tokens were answered, %d are kept, want 1", made.Load(), kept)
	}
}
