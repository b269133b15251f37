// Command workers is a program for several processes that share a Redis. Each
// process creates a timer every second. If you stop one process, the others
// take over its timers.
//
//	go run ./embed/workers -redis redis://127.0.0.1:6379 -name one
//	go run ./embed/workers -redis redis://127.0.0.1:6379 -name two
//	go run ./embed/workers -redis redis://127.0.0.1:6379 -name three
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"time"

	"github.com/foliot/foliot"
	"github.com/foliot/foliot/redis"
)

type reminder struct{ From string }

var remind = foliot.NewKind[reminder]("remind")

func main() {
	url, name := flag.String("redis", "redis://127.0.0.1:6379", "URL of the Redis"), flag.String("name", "one", "name of this process")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *url, *name, func(line string) { log.Print(line) }); err != nil {
		log.Fatal(err)
	}
}

// run creates and handles reminders until ctx ends. print is called for each
// reminder, by several goroutines.
func run(ctx context.Context, url, name string, print func(line string)) error {
	mux := new(foliot.Mux)
	remind.Handle(mux, func(_ context.Context, t *foliot.Task[reminder]) error {
		print(fmt.Sprintf("%s runs %s, which %s has created", name, t.Name, t.Args.From))
		return nil
	})
	node, err := foliot.Open(ctx, redis.Store(url), mux, foliot.Options{})
	if err != nil {
		return err
	}
	defer node.Close()
	go create(ctx, node, name)
	return node.Run(ctx)
}

// create creates a reminder every second until ctx ends.
func create(ctx context.Context, node *foliot.Node, name string) {
	for tick := time.NewTicker(time.Second); ; {
		select {
		case now := <-tick.C:
			if _, err := remind.In(ctx, node, fmt.Sprint("remind-", name, "-", now.UnixMilli()), time.Second, reminder{name}); err != nil {
				log.Print(err)
			}
		case <-ctx.Done():
			return
		}
	}
}
