package wheel

import "context"

// Close stops the wheel: it waits for hand-overs to Run that are under way on other goroutines, and after it has returned
// no timer is handed over any more. Callbacks that Run has got by then still run; Shutdown waits for them. The timers
// that are still pending stay as they are, for Remove and Drain; adding and moving fail. Close may be called twice, by
// anyone, and from within a callback; but not there if Run itself blocks until callbacks return (a Pool's own Run may): Close
// would wait for its caller.
func (w *Wheel[T]) Close() {
	_ = w.shut(context.Background())
}

// shut is Close, but stops waiting when ctx is done: then it returns the context's error.
func (w *Wheel[T]) shut(ctx context.Context) error {
	for _, sh := range w.shards {
		sh.close()
	}
	if w.closing != nil {
		w.closing()
	}
	for _, sh := range w.shards {
		if err := sh.waitHandedOver(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (sh *shard[T]) close() {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if !sh.closed.Swap(true) && sh.timer != nil {
		sh.timer.Stop()
	}
	sh.emptyLocked()
}

// waitHandedOver waits until no hand-over is under way. The shard is closed, so none will begin.
func (sh *shard[T]) waitHandedOver(ctx context.Context) error {
	sh.mu.Lock()
	if sh.handing.Load() == 0 {
		sh.mu.Unlock()
		return nil
	}
	// Whoever clears handing from now on finds the shard closed, so it takes the lock and looks at handedOver.
	if sh.handedOver == nil {
		sh.handedOver = make(chan struct{})
	}
	handedOver := sh.handedOver
	sh.mu.Unlock()
	select {
	case <-handedOver:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Shutdown is Close, and then waits until every callback that Run has got has returned, or until ctx is done: then it
// returns the context's error, at once even if Run itself blocks, and may be called again. It must not be called from
// within a callback, for which it would wait.
func (w *Wheel[T]) Shutdown(ctx context.Context) error {
	if err := w.shut(ctx); err != nil {
		return err
	}
	for _, sh := range w.shards {
		if err := sh.wait(ctx); err != nil {
			return err
		}
	}
	return nil
}

// wait waits until no callback is held any more. The shard is closed, so there will be no new ones.
func (sh *shard[T]) wait(ctx context.Context) error {
	sh.mu.Lock()
	if sh.held.Load() == 0 {
		sh.mu.Unlock()
		return nil
	}
	if sh.quiet == nil {
		sh.quiet = make(chan struct{})
	}
	quiet := sh.quiet
	// finished lowers held before it takes the lock and looks at quiet. If it did so before we set quiet, held is 0 now.
	if sh.held.Load() == 0 {
		close(sh.quiet)
		sh.quiet = nil
	}
	sh.mu.Unlock()
	select {
	case <-quiet:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
