package dispatch

import (
	"log/slog"
	"time"

	"github.com/foliot/foliot/internal/task"
)

// Config says how a Dispatcher works. The zero Config works.
type Config struct {
	// Window is how far ahead tasks are read, and WindowTasks about how many
	// may be known at once (each lane may have a few beyond): more make bursts
	// smoother and cost some 250 bytes each. Each namespace has its share of the
	// window: while one holds more, twice as many may be known. Defaults: 5 s, 100,000.
	Window      time.Duration
	WindowTasks int

	// Poll is how often the store is asked what is due, whatever the hints
	// said: the longest time by which a lost hint delays a task, of a namespace with
	// no more than 25,000 lanes. Default: 250 ms.
	Poll time.Duration

	// Slots is how many attempts may be under way: more serve more receivers
	// that are slow, and cost a connection each. One lane gets at most half.
	// Default: 1024.
	Slots int

	// LeaseFor is how long a claim holds without a word from us; it is extended
	// every third of it. Short ones hand over faster after a crash, where
	// others share the store; long ones survive a longer stall. Default: 15 s.
	LeaseFor time.Duration

	// Grace is how long attempts may go on after Run's context has ended.
	// Default: 10 s; negative: none.
	Grace time.Duration

	// Settings is what operators have decided; see Configure. Default: nothing.
	Settings *task.Settings

	// BreakerFailures is how many attempts in a row a destination (host:port, as
	// one namespace knows it) has to fail, by silence or a status of 500 or
	// more, until nothing is claimed for it but one attempt at a time, after
	// waits that double from one second to BreakerMax. Defaults: 10, 30 s;
	// negative failures: never.
	BreakerFailures int
	BreakerMax      time.Duration

	// SweepEvery is how often records whose retention ended are removed.
	// Default: 10 s.
	SweepEvery time.Duration

	// ReapEvery is how often lost leases are taken back. 0: never, for a store
	// that does so when it is opened.
	ReapEvery time.Duration

	// Observe is told of each attempt once it is settled: by one goroutine, which
	// it must not hold up, and without any lock. Default: nobody is told.
	Observe func(Event)

	// Scrubber is audited step by step, one round in each ScrubEvery or as
	// fast as is possible in a small part of its time. Defaults: the queue, if it
	// is one, and an hour; negative: never. OnScrub is told what each step has
	// found, by the goroutine that makes them.
	Scrubber   task.Scrubber
	ScrubEvery time.Duration
	OnScrub    func(task.Scrubbed)

	// Permits is where limits are counted that hold over all nodes. Default: the
	// queue, if it is one; where it is not shared, this process counts alone.
	Permits task.Permits

	// Now reads the wall clock: what is due, and what the store is told of the
	// time, counts by it. It must be the clock that the store's other callers go
	// by; it may step. What merely lasts, as a lease does once it is granted, counts
	// by a clock that does not. It is asked under a lock: it must be quick, and not
	// block. Default: time.Now.
	Now func() time.Time

	// Trusted is the time by which tasks expire, records are removed and lost leases
	// are taken back: Now, but behind it while Now may be wrong. Default: Now.
	Trusted func() time.Time

	// Logger is told of failures, at most once in ten seconds for each kind.
	// Default: none.
	Logger *slog.Logger
}

func (c Config) withDefaults() Config {
	fill(&c.Window, 5*time.Second)
	fill(&c.WindowTasks, 100_000)
	fill(&c.Poll, 250*time.Millisecond)
	fill(&c.Slots, 1024)
	fill(&c.LeaseFor, 15*time.Second)
	fill(&c.Grace, 10*time.Second)
	fill(&c.BreakerFailures, 10)
	fill(&c.BreakerMax, 30*time.Second)
	fill(&c.SweepEvery, 10*time.Second)
	fill(&c.ScrubEvery, time.Hour)
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Trusted == nil {
		c.Trusted = c.Now
	}
	fill(&c.Logger, slog.New(slog.DiscardHandler))
	return c
}

// fill stores the default where none was given.
func fill[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// guard is the part of a lease's end in which nothing is sent any more.
func (c Config) guard() time.Duration { return min(time.Second, c.LeaseFor/4) }
