// Command delayqueue has takers that block until an element is due. The left
// side is DelayQueue in Java, which Kafka's timer also uses:
//
//	put(element)                     Put(delay, element)
//	take()                           Take(ctx)
//	poll(timeout), an interrupt      Take, with a context that ends
//	remove(element), in O(n)         Remove(id), in O(1)
//	size()                           Len()
//
// Elements need no getDelay and no compareTo. An element that is due stays in
// the queue until a taker has it, so it can be removed until then. If several
// elements are due, the first deadline is taken first. There are no leader and
// followers: one alarm wakes one taker.
//
//	go run -C examples ./wheel/delayqueue
package main

import (
	"context"
	"io"
	"os"
	"sync"
	"time"

	"github.com/foliot/foliot/examples/internal/story"
	"github.com/foliot/foliot/wheel"
)

func main() { run(os.Stdout) }

func run(out io.Writer) {
	say := story.Start(out)
	queue := wheel.NewDelayQueue[string]()

	ids := map[string]wheel.ID{}
	for _, job := range []struct {
		name  string
		delay time.Duration
	}{
		{"a", 1000 * time.Millisecond},
		{"b", 1200 * time.Millisecond},
		{"c", 1400 * time.Millisecond},
		{"d", 1600 * time.Millisecond},
		{"e", 3000 * time.Millisecond},
		{"f", time.Hour},
	} {
		say("put %s, due in %v", job.name, job.delay)
		ids[job.name] = queue.Put(job.delay, job.name)
	}

	ctx, stop := context.WithCancel(context.Background())
	var takers sync.WaitGroup
	for range 2 {
		takers.Go(func() {
			for {
				job, err := queue.Take(ctx)
				if err != nil { // the end of ctx
					return
				}
				say("take %s", job)
				time.Sleep(time.Second) // work
			}
		})
	}
	time.Sleep(1800 * time.Millisecond)
	_, found := queue.Remove(ids["d"])
	say("remove d, which is due: %t", found)
	time.Sleep(2500 * time.Millisecond)

	stop()
	takers.Wait()
	say("%d is left", queue.Len())
}
