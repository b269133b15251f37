package sessions

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot/foliot"
	"github.com/foliot/foliot/dir"
	"github.com/foliot/foliot/foliottest"
)

// ended is a list of sessions that have ended.
type ended struct {
	mu  sync.Mutex
	ids []string
}

func (e *ended) end(_ context.Context, id, _ string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.ids = append(e.ids, id)
	return nil
}

func (e *ended) list() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.ids)
}

func TestASessionLastsAsLongAsItIsUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mux, e := new(foliot.Mux), new(ended)
		Handle(mux, e.end)
		node := foliottest.Start(t, mux)
		for range 10 {
			if err := Used(t.Context(), node, "s1", "ann"); err != nil {
				t.Fatal(err)
			}
			time.Sleep(Unused - time.Millisecond)
			synctest.Wait()
		}
		if len(e.list()) != 0 {
			t.Fatal("it ended although it was used")
		}
		time.Sleep(10 * time.Millisecond)
		synctest.Wait()
		if !slices.Equal(e.list(), []string{"s1"}) {
			t.Errorf("ended: %v", e.list())
		}
	})
}

func TestASessionEndsAlsoAfterARestart(t *testing.T) {
	place := t.TempDir()
	run := func(use func(*foliot.Node)) *ended {
		mux, e := new(foliot.Mux), new(ended)
		Handle(mux, e.end)
		node, err := foliot.Open(t.Context(), dir.Store(place), mux, foliot.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer node.Close()
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- node.Run(ctx) }()
		use(node)
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
		return e
	}
	run(func(node *foliot.Node) {
		if err := Used(t.Context(), node, "s1", "ann"); err != nil {
			t.Fatal(err)
		}
		if _, err := node.Move(t.Context(), "s1", foliot.At(time.Now().Add(200*time.Millisecond))); err != nil { // a real clock: do not wait half an hour
			t.Fatal(err)
		}
	})
	e := run(func(node *foliot.Node) {
		for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) { // between two looks
			if i, err := node.Get(t.Context(), "s1"); err != nil || i.State == foliot.StateDelivered {
				return
			}
		}
	})
	if !slices.Equal(e.list(), []string{"s1"}) {
		t.Errorf("ended after the restart: %v", e.list())
	}
}
