package timing

import (
	"context"
	"sync"
	"time"
)

// AtRate calls do(0), do(1) … at a fixed rate until ctx ends, each on a
// separate goroutine, and waits for them. If 1024 calls are under way, AtRate
// waits: then the load is no longer open-loop, but memory is bounded.
func AtRate(ctx context.Context, perSecond int, do func(i int)) {
	var calls sync.WaitGroup
	defer calls.Wait()
	open := make(chan struct{}, 1024)
	began := time.Now()
	for i := 0; Until(ctx, began.Add(time.Duration(i)*time.Second/time.Duration(perSecond))); i++ {
		open <- struct{}{}
		calls.Go(func() {
			defer func() { <-open }()
			do(i)
		})
	}
}

// InBackground starts run. The returned function ends the context of run, and
// waits until run has returned.
func InBackground(ctx context.Context, run func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		run(ctx)
	}()
	return func() {
		cancel()
		<-done
	}
}
