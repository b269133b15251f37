package foliot

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/foliot/foliot/internal/sparselog"
)

const (
	// maxCallbacks is the maximum number of waiting calls; further calls are
	// dropped.
	maxCallbacks = 10_000
	// callbackLimit is how long Run waits for the calls after its handlers have
	// ended.
	callbackLimit = 5 * time.Second
)

// callbacks calls functions of the program one after the other, outside the
// goroutines that deliver, so a slow function delays no attempt and no lease.
// Its methods can be called concurrently.
type callbacks struct {
	log     *slog.Logger // sparse
	waiting chan callback
	current atomic.Value // the option of the latest call, a string; run writes it, add reads it for the log
}

// callback is one call of the function of an option.
type callback struct {
	option string
	call   func()
}

func newCallbacks(log *slog.Logger) *callbacks {
	return &callbacks{log: sparselog.New(log), waiting: make(chan callback, maxCallbacks)}
}

// add appends a call for run, and does not wait for it.
func (c *callbacks) add(option string, call func()) {
	select {
	case c.waiting <- callback{option, call}:
	default:
		c.log.Error("too many calls of functions in Options wait: further calls are dropped until one has returned", "option", option, "slow", c.current.Load(), "waiting", maxCallbacks)
	}
}

// run makes the calls until ctx ends, then those that still wait, and returns.
// If that takes too long, run drops the other calls and returns an error.
func (c *callbacks) run(ctx context.Context) error {
	ended := make(chan struct{})
	go func() { defer close(ended); c.work(ctx) }()
	<-ctx.Done()
	select {
	case <-ended:
		return nil
	case <-time.After(callbackLimit):
	}
	for left := 0; ; left++ {
		select {
		case <-c.waiting:
		default:
			return fmt.Errorf("foliot: Options.%s has not returned %v after the end of the handlers, and %d more calls were dropped: the function must return", c.current.Load(), callbackLimit, left)
		}
	}
}

// work makes the calls until ctx has ended and no call waits.
func (c *callbacks) work(ctx context.Context) {
	for {
		select {
		case b := <-c.waiting:
			c.current.Store(b.option)
			switch e := guard(func(*ending) { b.call() }); {
			case e.panicked:
				c.log.Error("a function in Options panicked", "option", b.option, "panic", e.text, "stack", string(e.stack))
			case e.exited:
				c.log.Error("a function in Options called runtime.Goexit", "option", b.option)
			}
		case <-ctx.Done():
			if len(c.waiting) == 0 {
				return
			}
		}
	}
}
