// Command eventloop is a loop on one goroutine that waits for events and timers
// together, as a loop around epoll_wait does. It drives a wheel by its own tick.
// The left side is the four operations of the paper by Varghese and Lauck:
//
//	START_TIMER              Core.Add, with a tick
//	STOP_TIMER               Core.Remove; Core.Reset moves a timer
//	PER_TICK_BOOKKEEPING     Core.Advance, once in each turn of the loop
//	EXPIRY_PROCESSING        the function that is passed to Advance
//
// The loop need not wake for each tick: Core.Next is the timeout for the next
// wait. A Core has no lock, no clock and no goroutine.
//
//	go run -C examples ./wheel/eventloop
package main

import (
	"io"
	"os"
	"time"

	"github.com/foliot/foliot/examples/internal/story"
	"github.com/foliot/foliot/wheel"
)

const (
	tick = 10 * time.Millisecond
	idle = 100 // ticks that a peer may be silent: 1 s
)

func main() { run(os.Stdout) }

func run(out io.Writer) {
	say := story.Start(out)
	start := time.Now()
	now := func() uint64 { return uint64(time.Since(start) / tick) } // rounded down, so nothing is early

	timers := wheel.NewCore[string](0)
	peers := map[string]wheel.ID{}
	events := network()
	turns := 0
	for events != nil || timers.Len() > 0 {
		select { // epoll_wait(…, timeout)
		case peer, open := <-events:
			deadline := now() + 1 + idle // the tick now() has begun already
			switch id, known := peers[peer]; {
			case !open:
				events = nil
			case known && timers.Reset(id, deadline):
				say("%s is alive", peer)
			default:
				peers[peer] = timers.Add(deadline, peer)
				say("%s is new", peer)
			}
		case <-time.After(untilNext(timers, start)):
		}
		timers.Advance(now(), 1000, func(_ wheel.ID, peer string) {
			delete(peers, peer)
			say("%s is silent", peer)
		})
		turns++
	}
	say("the loop made %d turns in %d ticks", turns, now())
}

// untilNext is how long the loop can wait for events.
func untilNext(timers *wheel.Core[string], start time.Time) time.Duration {
	if next, ok := timers.Next(); ok {
		return time.Until(start.Add(time.Duration(next) * tick))
	}
	return time.Hour
}

// network returns the events of two peers: their names, each time that they
// send something.
func network() <-chan string {
	events := make(chan string)
	go func() {
		defer close(events)
		for _, peer := range []string{"ann", "bob", "ann", "ann"} {
			events <- peer
			time.Sleep(500 * time.Millisecond)
		}
	}()
	return events
}
