// Package foliottest runs package foliot in tests, with the tasks in memory. In
// a bubble of testing/synctest, time is fake, so a test of "closed after half
// an hour, and not a millisecond earlier" takes milliseconds:
//
//	synctest.Test(t, func(t *testing.T) {
//		node := foliottest.Start(t, mux)
//		closeOrder.In(t.Context(), node, "close-42", 30*time.Minute, Order{ID: "42"})
//		time.Sleep(30*time.Minute - time.Millisecond)
//		synctest.Wait()
//		// it is still open
//		time.Sleep(2 * time.Millisecond)
//		synctest.Wait()
//		// it is closed
//	})
package foliottest

import (
	"context"
	"errors"
	"testing"

	"github.com/foliot/foliot"
	"github.com/foliot/foliot/internal/engine"
	"github.com/foliot/foliot/internal/engine/memory"
)

// Store returns a store in memory, for foliot.Open. Each Open gets an empty
// store, which is lost when its Node is closed.
func Store() foliot.Store { return engine.NewStore(memory.Medium{}).(foliot.Store) }

// Start returns a running Node in memory, with the handlers of mux. At the end
// of the test, the Node is stopped and closed, and the test fails if the Node
// cannot be opened, ends with an error, or cannot be closed. Start can be
// called inside or outside a bubble of testing/synctest.
func Start(t testing.TB, mux *foliot.Mux) *foliot.Node {
	t.Helper()
	return StartWith(t, mux, foliot.Options{})
}

// StartWith is Start with options.
func StartWith(t testing.TB, mux *foliot.Mux, o foliot.Options) *foliot.Node {
	t.Helper()
	n, err := foliot.Open(context.Background(), Store(), mux, o)
	if err != nil {
		t.Fatalf("open a node in memory: %v", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	if mux == nil && o.URLs == nil { // it only creates tasks
		ended <- nil
	} else {
		go func() { ended <- n.Run(ctx) }()
	}
	t.Cleanup(func() {
		stop()
		if err := errors.Join(<-ended, n.Close()); err != nil {
			t.Errorf("the node ended: %v", err)
		}
	})
	return n
}
