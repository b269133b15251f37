package original

import (
	"context"
	"sync"
	"time"
)

// calls bounds the calls that a node makes at the same time. The articles start
// a goroutine for each task of a second, which would use all sockets of a
// machine.
const calls = 1024

// Run takes the tasks of the second of each tick, and calls their URLs, until
// ctx ends or ticks is closed. Then it waits for the calls under way. If the
// tasks of a second cannot be taken, they are lost: the next tick belongs to
// another second.
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
