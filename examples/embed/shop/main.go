// A shop that closes unpaid orders after half an hour, in about 25 lines. The
// timers are in the directory "timers": stop the program, start it again, and
// the order is still closed on time.
//
//	go run ./embed/shop
package main

import (
	"context"
	"log"
	"os"
	"os/signal"
	"time"

	"github.com/foliot/foliot"
	"github.com/foliot/foliot/dir"
)

type Order struct{ ID string }

var closeOrder = foliot.NewKind[Order]("close-order")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	mux := new(foliot.Mux)
	closeOrder.Handle(mux, func(ctx context.Context, t *foliot.Task[Order]) error {
		log.Printf("order %s is not paid: it is closed", t.Args.ID)
		return nil
	})
	node, err := foliot.Open(ctx, dir.Store("timers"), mux, foliot.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer node.Close()
	order := Order{ID: time.Now().Format("150405")}
	if _, err := closeOrder.In(ctx, node, "close-"+order.ID, 30*time.Minute, order); err != nil {
		log.Print(err)
	}
	// when it is paid: pending, err := node.Cancel(ctx, "close-"+order.ID)
	if err := node.Run(ctx); err != nil {
		log.Print(err)
	}
}
