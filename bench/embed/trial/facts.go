package trial

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/foliot/foliot/bench/embed/contender"
	"github.com/foliot/foliot/bench/record"
)

// The names of texts, which are answers about the library.
const (
	Unique  = "unique"
	Moves   = "move"
	Cancels = "cancel"
	Clues   = "clues"
)

// facts finds out by experiment what the library can do. races cancels the tasks
// with the numbers below N while they become due. The tasks of the other
// experiments have the numbers from N on.
func (t *trial) facts(ctx context.Context) error {
	if err := t.started(ctx); err != nil {
		return err
	}
	t.out.Texts[Clues] = strings.Join(t.lib.Clues, ", ")
	for _, experiment := range []func(context.Context) error{t.unique, t.moves, t.cancels, t.races} {
		if err := experiment(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (t *trial) answer(name string, yes bool) {
	t.out.Texts[name] = map[bool]string{true: "yes", false: "no"}[yes]
}

// unique creates a task twice.
func (t *trial) unique(ctx context.Context) error {
	ctx = contender.Unique(ctx)
	task := contender.Task{I: t.N, Due: millis(time.Now().Add(time.Hour))}
	if err := t.lib.Create(ctx, task); err != nil {
		return err
	}
	err := t.lib.Create(ctx, task)
	t.answer(Unique, errors.Is(err, contender.ErrExists))
	if errors.Is(err, contender.ErrExists) {
		err = nil
	}
	return err
}

// moves moves a task to an earlier time, and one to a later time.
func (t *trial) moves(ctx context.Context) error {
	t.answer(Moves, false)
	if t.lib.Move == nil {
		return nil
	}
	earlier, later := t.N+1, t.N+2
	far, near := millis(time.Now().Add(time.Hour)), millis(time.Now().Add(time.Second))
	err := errors.Join(
		t.lib.Create(ctx, contender.Task{I: earlier, Due: far}), t.lib.Create(ctx, contender.Task{I: later, Due: near}),
		t.lib.Move(ctx, contender.Task{I: earlier, Due: near}), t.lib.Move(ctx, contender.Task{I: later, Due: far}),
	)
	if err != nil {
		return fmt.Errorf("move: %w", err)
	}
	at, came := t.log.waitFor(earlier, 10*time.Second)
	_, both := t.log.waitFor(later, time.Second)
	t.answer(Moves, came && !at.Before(near) && !both)
	return nil
}

// cancels cancels a task that waits.
func (t *trial) cancels(ctx context.Context) error {
	i := t.N + 3
	if err := t.lib.Create(ctx, contender.Task{I: i, Due: millis(time.Now().Add(time.Second))}); err != nil {
		return err
	}
	ok, err := t.lib.Cancel(ctx, i)
	if err != nil {
		return fmt.Errorf("cancel: %w", err)
	}
	_, ran := t.log.waitFor(i, 8*time.Second)
	t.answer(Cancels, ok && !ran)
	return nil
}

// races cancels tasks while they become due. If a cancel promises that the
// handler will not run, but it runs at any time, the promise is broken.
func (t *trial) races(ctx context.Context) error {
	first, err := t.ahead(ctx)
	if err != nil {
		return err
	}
	var all sync.WaitGroup
	var failed atomic.Pointer[error]
	promised := make([]bool, t.N)
	for i := range t.N {
		all.Go(func() {
			due := millis(first.Add(t.Over * time.Duration(i) / time.Duration(t.N)))
			time.Sleep(time.Until(due.Add(offset(i))))
			ok, err := t.lib.Cancel(ctx, i)
			if promised[i] = ok; err != nil {
				failed.Store(&err)
			}
		})
	}
	all.Wait()
	if err := failed.Load(); err != nil {
		return fmt.Errorf("cancel: %w", *err)
	}
	time.Sleep(t.Limit)
	v := t.out.Values
	for i, ok := range promised {
		_, ran := t.log.started(i)
		switch {
		case ok && ran:
			v[Broken]++
		case !ok && !ran:
			v[record.Lost]++
		}
		if ok {
			v[Cancelled]++
		} else {
			v[Refused]++
		}
	}
	return nil
}

// offset is when a task is cancelled, counted from its due time. A third of the
// cancels comes within 3 ms of it, and a third in the 20 ms after it, when most
// libraries start handlers. asynq starts them at whole seconds: so the last
// third comes within half a second.
func offset(i int) time.Duration {
	switch i % 3 {
	case 0:
		return time.Duration(rand.Int64N(int64(6*time.Millisecond))) - 3*time.Millisecond
	case 1:
		return time.Duration(rand.Int64N(int64(20 * time.Millisecond)))
	}
	return time.Duration(rand.Int64N(int64(time.Second))) - 500*time.Millisecond
}

// holds returns while a handler runs.
func (t *trial) holds(ctx context.Context) error {
	t.hold.Store(true)
	if err := t.started(ctx); err != nil {
		return err
	}
	if err := t.lib.Create(ctx, contender.Task{I: 0, Due: millis(time.Now().Add(time.Second))}); err != nil {
		return err
	}
	if _, started := t.log.waitFor(0, 20*time.Second); !started {
		return errors.New("the handler did not start within 20 s")
	}
	return nil
}

// reap starts the handlers after a crash.
func (t *trial) reap(ctx context.Context) error {
	began := time.Now()
	if err := t.lib.Start(ctx); err != nil {
		return err
	}
	t.log.wait(began.Add(t.Limit))
	v := t.out.Values
	t.log.lateness(v, t.N)
	if v[record.Fired] > 0 {
		first, last := t.log.span()
		v[FirstS], v[LastS] = first.Sub(began).Seconds(), last.Sub(began).Seconds()
	}
	return nil
}
