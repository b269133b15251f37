package sessions

import (
	"context"
	"errors"
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
	synctest.Test(t, func(t *testing.T) {
		place := t.TempDir()
		e := new(ended)
		// process runs the program for a while, after a use of sessions.
		process := func(d time.Duration, used ...string) {
			mux := new(foliot.Mux)
			Handle(mux, e.end)
			node, err := foliot.Open(t.Context(), dir.Store(place), mux, foliot.Options{})
			if err != nil {
				t.Fatal(err)
			}
			for _, id := range used {
				if err := Used(t.Context(), node, id, "ann"); err != nil {
					t.Error(err)
				}
			}
			ctx, stop := context.WithTimeout(t.Context(), d)
			defer stop()
			if err := errors.Join(node.Run(ctx), node.Close()); err != nil {
				t.Error(err)
			}
		}
		process(20*time.Minute, "s1")
		process(5*time.Minute, "s2")
		if len(e.list()) != 0 {
			t.Errorf("ended too early: %v", e.list())
		}
		time.Sleep(10 * time.Minute) // s1 ends while no process runs
		process(10 * time.Minute)
		if !slices.Equal(e.list(), []string{"s1"}) {
			t.Errorf("ended after the restart: %v", e.list())
		}
		process(10 * time.Minute)
		if !slices.Equal(e.list(), []string{"s1", "s2"}) {
			t.Errorf("ended in the end: %v", e.list())
		}
	})
}
