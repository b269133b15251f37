package redisstore

import (
	"errors"
	"sync"
	"testing"

	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/settings"
)

// TestManyNodesCreateOnlyOneFirstToken: nodes share no lock, so the servers
// must decide.
func TestManyNodesCreateOnlyOneFirstToken(t *testing.T) {
	r := redistest.New(t)
	nodes := []*Store{openNode(t, "a", r.Addr), openNode(t, "b", r.Addr), openNode(t, "c", r.Addr)}
	errs := make([]error, 10)
	begin := make(chan struct{})
	var all sync.WaitGroup
	for i := range errs {
		_, hash := settings.MintToken()
		first := settings.AddToken{Namespace: settings.AllNamespaces, Scope: settings.ScopeAdmin, Hash: hash, First: true}
		all.Go(func() {
			<-begin
			replies, err := nodes[i%len(nodes)].Configure(t.Context(), 1, []settings.Edit{first})
			if err != nil {
				t.Errorf("Configure: %v", err)
				return
			}
			errs[i] = replies[0].Err
		})
	}
	close(begin)
	all.Wait()
	made := 0
	for _, err := range errs {
		if err == nil {
			made++
		} else if !errors.Is(err, settings.ErrSecured) {
			t.Errorf("AddToken: %v", err)
		}
	}
	again := openNode(t, "d", r.Addr)
	if kept := len(again.Standing().Settings.List(settings.TokenKind, "")); made != 1 || kept != 1 {
		t.Errorf("%d first tokens were answered, %d are kept, want 1", made, kept)
	}
}
