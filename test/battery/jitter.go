package main

import (
	"context"
	"slices"
	"time"
)

// jitter measures how late this machine wakes a process that does nothing but
// sleep, while something else is measured: on a busy machine lateness is the
// machine's as much as the server's.
type jitter struct {
	stop context.CancelFunc
	done chan []time.Duration
}

// watchJitter starts a goroutine, which end stops and waits for.
func watchJitter(ctx context.Context) *jitter {
	ctx, stop := context.WithCancel(ctx)
	j := &jitter{stop: stop, done: make(chan []time.Duration, 1)}
	go func() {
		const nap = 5 * time.Millisecond
		var late []time.Duration
		for began := time.Now(); pause(ctx, nap); began = time.Now() {
			late = append(late, time.Since(began)-nap)
		}
		j.done <- late
	}()
	return j
}

// end returns how late the wake-ups were, ascending.
func (j *jitter) end() []time.Duration {
	j.stop()
	late := <-j.done
	slices.Sort(late)
	return late
}
