package remote_test

import (
	"context"
	"log"
	"time"

	"github.com/foliot/foliot"
	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/remote"
)

// A web server creates timers, and another program, which serves package
// foliot/admin, runs their handlers.
func ExampleNew() {
	type Order struct{ ID string }
	closeOrder := foliot.NewKind[Order]("close-order")

	c, err := client.New("https://shop.example/timers", client.Options{Token: "which the other program checks"})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	timers := remote.New(c)
	if _, err := closeOrder.In(context.Background(), timers, "close-42", 30*time.Minute, Order{ID: "42"}); err != nil {
		log.Fatal(err)
	}
}
