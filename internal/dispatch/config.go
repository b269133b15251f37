package dispatch

import (
	"cmp"
	"log/slog"
	"time"

	"github.com/foliot/foliot/internal/dispatch/planner"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/sparselog"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// MaxLimitedKinds is the maximum number of kinds that can have a limit.
const MaxLimitedKinds = planner.MaxLimitedKinds

// Config configures a Dispatcher, and the zero Config works.
type Config struct {
	// Window is how far ahead tasks are read. WindowTasks is about how many
	// tasks can be known at once (each lane can have a few more): a higher
	// number makes bursts smoother and costs some 250 bytes per task. Each
	// namespace has its share of the window, and while one has more, twice as
	// many tasks can be known. Defaults: 5 s, 100,000.
	Window      time.Duration
	WindowTasks int

	// Poll is how often the store is read for due tasks, whether hints came or
	// not. It is the longest delay by a lost hint for a task of a namespace
	// with at most 12,500 lanes. Default: 250 ms.
	Poll time.Duration

	// Slots is how many requests can be under way. More slots serve more slow
	// receivers, and cost a connection each, but one lane gets at most half of
	// them. Default: 1024. If Slots is negative, there are none, so tasks with a
	// URL wait for another process.
	Slots int

	// Kinds has the kinds that Deliver can run, each with the maximum number of
	// its tasks that run at once, or zero for no limit except Handlers. Tasks of
	// other kinds wait for another process. Default: no kinds.
	Kinds map[string]int
	// KindsOf is the namespace of the tasks that the handlers run. Default: all.
	KindsOf string
	// Handlers is the maximum number of handlers that run at once, of all kinds
	// together, which share no slots with requests. Default: none.
	Handlers int

	// Holder names this process in the leases of tasks that have a kind.
	Holder string

	// Hangs is called once for each handler that still runs one tick of the
	// renewer (a sixth of LeaseFor) after its timeout. The renewer extends the
	// lease of such a handler until the handler returns. Hangs must return
	// quickly, because the renewer calls it. Default: no call.
	Hangs func(t *task.Task, running time.Duration)

	// LeaseFor is how long a claim holds without an extension, and it is
	// extended after each third. If several processes share the store, a short
	// lease lets another process take over sooner after a crash, while a long
	// lease survives a longer stall. Default: 15 s.
	LeaseFor time.Duration

	// Gather is the shortest interval between the starts of two claims, and of
	// two settlements, while tasks come soon after each other. A task can be
	// late by that much, and several tasks share a call, but there is no
	// interval while due tasks wait for slots. Set it for a store where a call
	// costs more than its tasks. Default: no interval.
	Gather time.Duration

	// Grace is how long attempts can continue after the end of Run's context.
	// Default: 10 s. A negative value means none.
	Grace time.Duration

	// Settings are the settings of queues and namespaces; see Configure.
	// Default: none.
	Settings *settings.Settings

	// BreakerFailures is the number of failures in a row that open the breaker
	// of a destination (host:port, as one namespace uses it). Failures are a
	// missing reply and a status of 500 or more. An open breaker lets one
	// attempt at a time through, after waits that double from one second to
	// BreakerMax. Defaults: 10, 30 s; negative failures: breakers never open.
	BreakerFailures int
	BreakerMax      time.Duration

	// SweepEvery is how often records are removed after their retention has
	// ended. Default: 10 s. OnSweep is called with the number of each batch.
	SweepEvery time.Duration
	OnSweep    func(int)

	// ReapEvery is how often Reaper takes lost leases back. 0 means never, for a
	// store that does so when it is opened.
	ReapEvery time.Duration
	Reaper    store.Reaper

	// Observe is called with each attempt after its settlement. One goroutine
	// calls it, without any lock, and it must return quickly. Default: no call.
	Observe func(Event)

	// Scrubber is audited step by step: one round in each ScrubEvery, or as
	// fast as a small part of its time allows. OnScrub is called with the
	// result of each step, by the goroutine that makes the steps. Default of
	// ScrubEvery: an hour. A negative value means never.
	Scrubber   store.Scrubber
	ScrubEvery time.Duration
	OnScrub    func(store.Scrubbed)

	// Permits counts the limits that hold over all nodes. Default: this process
	// counts by itself.
	Permits store.PermitStore

	// Now reads the wall clock. Due times and all times passed to the store are
	// times of this clock, so other users of the store must use the same one. It
	// may step, because durations, such as those of granted leases, are measured
	// by a monotonic clock. Now is called under a lock, so it must be quick and
	// must not block. Default: time.Now.
	Now func() time.Time

	// Trusted is the time by which tasks expire, records are removed and lost
	// leases are taken back. It equals Now, but stays behind it while Now may
	// be wrong. Default: Now.
	Trusted func() time.Time

	// Logger logs failures and breakers sparsely: see package sparselog. Default:
	// none.
	Logger *slog.Logger
	plain  *slog.Logger // the same, for lines that are all needed
}

func (c Config) withDefaults() Config {
	c.Window = cmp.Or(c.Window, 5*time.Second)
	c.WindowTasks = cmp.Or(c.WindowTasks, 100_000)
	c.Poll = cmp.Or(c.Poll, 250*time.Millisecond)
	c.Slots = max(cmp.Or(c.Slots, 1024), 0)
	c.LeaseFor = cmp.Or(c.LeaseFor, store.ClaimFor)
	c.Grace = cmp.Or(c.Grace, 10*time.Second)
	c.BreakerFailures = cmp.Or(c.BreakerFailures, 10)
	c.BreakerMax = cmp.Or(c.BreakerMax, 30*time.Second)
	c.SweepEvery = cmp.Or(c.SweepEvery, 10*time.Second)
	c.ScrubEvery = cmp.Or(c.ScrubEvery, time.Hour)
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Trusted == nil {
		c.Trusted = c.Now
	}
	c.plain = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	c.Logger = sparselog.New(c.plain)
	return c
}

// guard is the last part of a lease, in which no request is sent any more.
func (c Config) guard() time.Duration { return min(time.Second, c.LeaseFor/4) }
