package original

import (
	"context"
	"sync"
	"time"
)

// calls is how many calls a node makes at a time: the articles start a goroutine
// for each task of a second, which would take all of a machine's sockets.
const calls = 1024

// Run takes the tasks of the second in which each tick lies, and calls their
// URLs, until ctx ends or ticks is closed; then it waits for the calls under way.
// A second that cannot be taken is given up: the next tick is another one's.
func (w *Wheel) Run(ctx context.Context, ticks <-chan time.Time) {
	var all sync.WaitGroup
	defer all.Wait()
	slots := make(chan struct{}, calls)
	for {
		select {
		case <-ctx.Done():
			return
		case at, ok := <-ticks:
			if !ok {
				return
			}
			all.Go(func() { w.second(ctx, at, slots) })
		}
	}
}

func (w *Wheel) second(ctx context.Context, at time.Time, slots chan struct{}) {
	tasks, err := w.Pop(ctx, at)
	if err != nil {
		return
	}
	var all sync.WaitGroup
	defer all.Wait()
	for _, t := range tasks {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			w.call(ctx, t)
		})
	}
}
