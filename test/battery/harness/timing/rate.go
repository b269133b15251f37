package timing

import (
	"context"
	"sync"
	"time"
)

// AtRate calls do(0), do(1) … at a fixed rate, each from a goroutine of its own,
// until ctx ends, and waits for them. Beyond 1024 calls under way it waits: the
// load is no longer open-loop then, but memory is bounded.
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

// InBackground starts run; the function it returns ends run's context and waits.
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
