package system

import (
	"context"
	"slices"
	"time"

	"github.com/foliot/foliot/test/battery/harness/timing"
)

// Jitter measures how late this machine wakes a process that only sleeps. It
// runs next to another measurement: on a busy machine, a part of the lateness
// is not caused by the server.
type Jitter struct {
	stop context.CancelFunc
	done chan []time.Duration
}

// WatchJitter starts a goroutine, which End stops and waits for.
func WatchJitter(ctx context.Context) *Jitter {
	ctx, stop := context.WithCancel(ctx)
	j := &Jitter{stop: stop, done: make(chan []time.Duration, 1)}
	go func() {
		const nap = 5 * time.Millisecond
		var late []time.Duration
		for began := time.Now(); timing.Pause(ctx, nap); began = time.Now() {
			late = append(late, time.Since(began)-nap)
		}
		j.done <- late
	}()
	return j
}

// End returns how late the wake-ups were, ascending.
func (j *Jitter) End() []time.Duration {
	j.stop()
	late := <-j.done
	slices.Sort(late)
	return late
}
