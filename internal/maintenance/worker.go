package maintenance

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/foliot/foliot/internal/task"
)

// Store is what a Worker needs of one.
type Store interface {
	Apply(ctx context.Context, now task.Millis, changes []task.Change) ([]task.Reply, error)
	Counts(ctx context.Context) (map[task.QueueKey]task.Counts, error)
	List(ctx context.Context, f task.Filter, page task.Page) (task.Listing, error)
	Settings() *task.Settings
	Configure(ctx context.Context, now task.Millis, edits []task.Edit) ([]task.EditReply, error)
	Record(ctx context.Context, entries []task.AuditEntry) error
}

// Config says how a Worker works.
type Config struct {
	// Every is how often the settings are looked at, whatever Look said, and the
	// clocks. Default: 1 s.
	Every time.Duration
	// UsesEvery is how often the last uses of tokens are noted. Default: 1 min.
	UsesEvery time.Duration
	// Uses returns, and forgets, the uses of tokens since it was called last.
	// Default: none.
	Uses func() []task.Edit
	// Refusals returns, and forgets, entries of the audit log that were collected since it
	// was called last. They are recorded as often as the uses of tokens. Default: none.
	Refusals func() []task.AuditEntry
	// ForgetEvery is how often tokens that ended are looked for, and KeepTokens how long
	// their records are kept: as long as the audit log, which names their ids. Defaults:
	// 10 min; task.DefaultAuditKeep, below zero not at all.
	ForgetEvery, KeepTokens time.Duration
	// Now reads the wall clock, which must be the one that the store's other callers
	// go by. Default: time.Now.
	Now func() time.Time
	// Trusted is the time by which tokens are forgotten: Now, but behind it while Now
	// may be wrong. Default: Now.
	Trusted func() time.Time
	// Logger is told what was done, and what failed. Default: none.
	Logger *slog.Logger
}

func (c Config) withDefaults() Config {
	if c.Every == 0 {
		c.Every = time.Second
	}
	if c.UsesEvery == 0 {
		c.UsesEvery = time.Minute
	}
	if c.ForgetEvery == 0 {
		c.ForgetEvery = 10 * time.Minute
	}
	if c.KeepTokens == 0 {
		c.KeepTokens = task.DefaultAuditKeep
	}
	c.KeepTokens = max(c.KeepTokens, 0)
	if c.Uses == nil {
		c.Uses = func() []task.Edit { return nil }
	}
	if c.Refusals == nil {
		c.Refusals = func() []task.AuditEntry { return nil }
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

// Worker is the background work of a server.
type Worker struct {
	config Config
	store  Store
	look   chan struct{} // there may be something to do: has room for one
}

// New returns a Worker. Nothing happens before Run.
func New(config Config, store Store) *Worker {
	return &Worker{config: config.withDefaults(), store: store, look: make(chan struct{}, 1)}
}

// Look says that the settings have changed: a hint, they are looked at every
// Config.Every. It does not block.
func (w *Worker) Look() {
	select {
	case w.look <- struct{}{}:
	default:
	}
}

// Run works until ctx ends, in the caller's goroutine and one beside it, for which it
// waits. What is under way then is given up, and begun again by the next Run; the uses of
// tokens are noted.
func (w *Worker) Run(ctx context.Context) {
	var beside sync.WaitGroup
	defer beside.Wait()
	beside.Go(func() { w.rounds(ctx) }) // a purge of millions must not hold up what a step of the clock asks for
	every, uses, forget := time.NewTicker(w.config.Every), time.NewTicker(w.config.UsesEvery), time.NewTicker(w.config.ForgetEvery)
	defer every.Stop()
	defer uses.Stop()
	defer forget.Stop()
	for {
		select {
		case <-w.look:
			w.purges(ctx)
		case <-every.C:
			w.purges(ctx)
		case <-uses.C:
			w.noteUses(ctx)
		case <-forget.C:
			w.forgetTokens(ctx)
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWords)
			defer cancel()
			w.noteUses(last)
			return
		}
	}
}

// lastWords is how long Run may take after its context has ended.
const lastWords = 2 * time.Second

func (w *Worker) noteUses(ctx context.Context) {
	if edits := w.config.Uses(); len(edits) > 0 {
		if _, err := w.store.Configure(ctx, w.now(), edits); err != nil {
			w.complain(ctx, "note when tokens were used", err)
		}
	}
	if entries := w.config.Refusals(); len(entries) > 0 {
		if err := w.store.Record(ctx, entries); err != nil {
			w.complain(ctx, "record which tokens were refused", err)
		}
	}
}

// forgetPage is how many records of tokens one edit removes.
const forgetPage = 500

// forgetTokens removes the records of tokens that ended long ago.
func (w *Worker) forgetTokens(ctx context.Context) {
	now := task.FloorMillis(w.config.Trusted())
	for keys := range slices.Chunk(w.store.Settings().OldTokens(now, now.Add(-w.config.KeepTokens)), forgetPage) {
		if _, err := w.store.Configure(ctx, now, []task.Edit{task.ForgetTokens{Keys: keys}}); err != nil {
			w.complain(ctx, "forget tokens that ended", err)
			return
		}
	}
}

// complain logs a failure, unless it only says that we are to stop. That the
// store cannot be reached it tells itself.
func (w *Worker) complain(ctx context.Context, doing string, err error) {
	level := slog.LevelError
	if errors.Is(err, task.ErrUnavailable) {
		level = slog.LevelDebug
	}
	if ctx.Err() == nil {
		w.config.Logger.LogAttrs(ctx, level, doing+": failed, tried again soon", slog.Any("error", err))
	}
}

func (w *Worker) now() task.Millis { return task.CeilMillis(w.config.Now()) }
