package wheel

import "context"

// Close stops the wheel, and waits for calls of Config.Run that are in progress
// on other goroutines. After Close has returned, no timer is handed over, but
// callbacks that Config.Run accepted before still run; Shutdown waits for them.
// Pending timers stay for Get, Remove, All and Drain, while adding and moving
// fail.
//
// Close may be called several times, and from callbacks. But if Config.Run is a
// Runner of your own that blocks until callbacks return, a callback must not
// call Close, because it would wait for itself. Close does not wait for a Pool.
func (w *Wheel[T]) Close() {
	_ = w.shut(context.Background())
}

// shut is Close, but returns the context's error when ctx is done first.
func (w *Wheel[T]) shut(ctx context.Context) error {
	for _, sh := range w.shards {
		sh.close()
	}
	if w.settings.closing != nil {
		w.settings.closing()
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

// waitHandedOver waits until no hand-over is under way in a shard, which must
// be closed.
func (sh *shard[T]) waitHandedOver(ctx context.Context) error {
	sh.mu.Lock()
	if sh.handing.Load() == 0 {
		sh.mu.Unlock()
		return nil
	}
	// From now on, code that clears handing finds the shard closed, so it takes
	// the lock and reads handedOver.
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

// Shutdown is Close, and then waits until every callback that Config.Run has
// accepted has returned. If ctx is done first, Shutdown returns ctx.Err(), even
// while a call of Config.Run blocks, and can be called again. A callback must
// not call Shutdown, because it would wait for itself.
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

// wait waits until no callback of the shard, which must be closed so that none
// is added, runs or waits to run.
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
	// finished lowers held before it takes the lock and reads quiet. If it did
	// so before quiet was set here, held is 0 now.
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
