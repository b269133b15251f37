package foliot_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot/foliot"
	"github.com/foliot/foliot/foliottest"
)

// theOrderIsClosed is a test of a program. In the program, its name is
// TestTheOrderIsClosed.
func theOrderIsClosed(t *testing.T) {
	type Order struct{ ID string }
	closeOrder := foliot.NewKind[Order]("close-order")

	synctest.Test(t, func(t *testing.T) {
		var closed atomic.Bool
		mux := new(foliot.Mux)
		closeOrder.Handle(mux, func(context.Context, *foliot.Task[Order]) error {
			closed.Store(true)
			return nil
		})
		node := foliottest.Start(t, mux)
		if _, err := closeOrder.In(t.Context(), node, "close-42", 30*time.Minute, Order{ID: "42"}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(30*time.Minute - time.Millisecond)
		synctest.Wait()
		if closed.Load() {
			t.Error("the order was closed too early")
		}
		time.Sleep(2 * time.Millisecond)
		synctest.Wait()
		if !closed.Load() {
			t.Error("the order was not closed")
		}
	})
}

// With fake time, half an hour takes milliseconds.
func Example_test() {
	_ = theOrderIsClosed // go test calls it
}
