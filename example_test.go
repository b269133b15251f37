package foliot_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/foliot/foliot"
	"github.com/foliot/foliot/dir"
)

// A shop closes an order that is not paid in time. Its timers survive a crash.
func Example() {
	type Order struct{ ID string }
	closeOrder := foliot.NewKind[Order]("close-order")

	ctx, stop := context.WithCancel(context.Background())
	mux := new(foliot.Mux)
	closeOrder.Handle(mux, func(_ context.Context, t *foliot.Task[Order]) error {
		fmt.Println("not paid in time: order", t.Args.ID)
		stop() // a shop would go on
		return nil
	})

	path, err := os.MkdirTemp("", "timers-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(path)
	node, err := foliot.Open(ctx, dir.Store(path), mux, foliot.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer node.Close()

	for _, id := range []string{"41", "42"} {
		if _, err := closeOrder.In(ctx, node, "close-"+id, 50*time.Millisecond, Order{ID: id}); err != nil {
			log.Fatal(err)
		}
	}
	cancelled, err := node.Cancel(ctx, "close-41") // a customer pays
	fmt.Println("order 41 is paid, and its handler runs:", cancelled.UnderWay, err)
	if err := node.Run(ctx); err != nil {
		log.Fatal(err)
	}
	// Output:
	// order 41 is paid, and its handler runs: false <nil>
	// not paid in time: order 42
}
