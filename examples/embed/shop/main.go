//doc:show shop

// Command shop closes orders that are not paid in time. Its timers are in the
// directory timers: they survive a kill -9 and a restart.
package main

import (
	"context"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/foliot/foliot"
	"github.com/foliot/foliot/dir"
)

type order struct{ ID string }

var closeOrder = foliot.NewKind[order]("close-order")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, dir.Store("timers"), 10*time.Second); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, store foliot.Store, grace time.Duration) error {
	mux := new(foliot.Mux)
	closeOrder.Handle(mux, func(_ context.Context, t *foliot.Task[order]) error {
		log.Printf("order %s was not paid in time", t.Args.ID)
		return nil
	})
	node, err := foliot.Open(ctx, store, mux, foliot.Options{})
	if err != nil {
		return err
	}
	defer node.Close()
	for _, id := range []string{"41", "42"} { // two customers order
		if t, err := node.Get(ctx, "close-"+id); err == nil && t.State == foliot.StateScheduled {
			continue // a restart finds its timer
		}
		if _, err := closeOrder.Put(ctx, node, "close-"+id, foliot.In(grace), order{ID: id}); err != nil {
			return err
		}
	}
	if _, err := node.Cancel(ctx, "close-41"); err != nil { // this one pays
		return err
	}
	return node.Run(ctx)
}

//doc:end
