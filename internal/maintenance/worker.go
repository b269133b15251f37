package maintenance

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// taskStore is the part of the store contract that a Worker uses.
type taskStore interface {
	store.Steps
	Counts(ctx context.Context) (map[task.QueueKey]task.Counts, error)
	List(ctx context.Context, f task.Filter, page task.Page) (task.Listing, error)
	Standing() store.Standing
	Configure(ctx context.Context, now task.Millis, edits []settings.Edit) ([]settings.EditReply, error)
}

const (
	// every is the interval at which the settings and the clocks are checked, in
	// addition to Wake.
	every = time.Second
	// pendingEvery is the interval at which the pending edits are made.
	pendingEvery = time.Minute
	// forgetEvery is the interval at which records of ended tokens are removed.
	forgetEvery = 10 * time.Minute
)

// Config holds the settings of a Worker.
type Config struct {
	// Pending returns edits that can wait, such as the last uses of tokens, and
	// forgets them. Run makes them once a minute, and at its end. Default: none.
	Pending func() []settings.Edit
	// KeepTokens is the time for which the records of ended tokens are kept,
	// equal to the time for the audit log, because the log has their ids.
	// Default: store.DefaultAuditKeep.
	KeepTokens time.Duration
	// Now reads the wall clock, which must be that of the store's other callers.
	// Default: time.Now.
	Now func() time.Time
	// Trusted returns the time for the removal of tokens. It equals Now, except
	// while Now might be wrong, when it is behind. Default: Now.
	Trusted func() time.Time
	// Logger logs completed work and failures. Default: none.
	Logger *slog.Logger
}

func (c Config) withDefaults() Config {
	c.KeepTokens = cmp.Or(c.KeepTokens, store.DefaultAuditKeep)
	if c.Pending == nil {
		c.Pending = func() []settings.Edit { return nil }
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Trusted == nil {
		c.Trusted = c.Now
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// Worker does the background work of a server.
type Worker struct {
	config Config
	store  taskStore
	wake   chan struct{} // receives a value if the settings might have changed; its buffer has room for one
}

// New returns a Worker, which does nothing before Run.
func New(config Config, store taskStore) *Worker {
	return &Worker{config: config.withDefaults(), store: store, wake: make(chan struct{}, 1)}
}

// Wake lets the Worker check the settings now instead of after every, without
// blocking.
func (w *Worker) Wake() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// Run works until ctx ends, in the caller's goroutine and in one more, for
// which it waits. At the end it stops unfinished work, which the next Run
// starts again, and makes the pending edits.
func (w *Worker) Run(ctx context.Context) {
	var rounds sync.WaitGroup
	defer rounds.Wait()
	rounds.Go(func() { w.checkSchedules(ctx) }) // a purge of millions of tasks must not delay the work after a clock step
	look, pending, forget := time.Tick(every), time.Tick(pendingEvery), time.Tick(forgetEvery)
	for {
		select {
		case <-w.wake:
			w.purges(ctx)
		case <-look:
			w.purges(ctx)
		case <-pending:
			w.makePending(ctx)
		case <-forget:
			w.forgetTokens(ctx)
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
			defer cancel()
			w.makePending(last)
			return
		}
	}
}

// stopTimeout is the maximum time that Run takes after its context has ended.
const stopTimeout = 2 * time.Second

func (w *Worker) makePending(ctx context.Context) {
	if edits := w.config.Pending(); len(edits) > 0 {
		if _, err := w.store.Configure(ctx, w.now(), edits); err != nil {
			w.logFailure(ctx, "record the last uses of tokens and refused tokens", err)
		}
	}
}

// forgetPage is the number of records of tokens that one edit removes.
const forgetPage = 500

// forgetTokens removes the records of tokens that ended long ago.
func (w *Worker) forgetTokens(ctx context.Context) {
	now := task.FloorMillis(w.config.Trusted())
	for keys := range slices.Chunk(w.store.Standing().Settings.OldTokens(now, now.Add(-w.config.KeepTokens)), forgetPage) {
		if _, err := w.store.Configure(ctx, now, []settings.Edit{settings.ForgetTokens{Keys: keys}}); err != nil {
			w.logFailure(ctx, "remove records of ended tokens", err)
			return
		}
	}
}

// logFailure logs a failure, unless ctx has ended, at level debug, because an
// unreachable store logs that by itself.
func (w *Worker) logFailure(ctx context.Context, doing string, err error) {
	level := slog.LevelError
	if errors.Is(err, task.ErrUnavailable) {
		level = slog.LevelDebug
	}
	if ctx.Err() == nil {
		w.config.Logger.LogAttrs(ctx, level, "could not "+doing+": the server will try again", slog.Any("error", err))
	}
}

func (w *Worker) now() task.Millis { return task.CeilMillis(w.config.Now()) }
