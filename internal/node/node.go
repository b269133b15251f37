package node

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/foliot/foliot/internal/activity"
	"github.com/foliot/foliot/internal/api"
	"github.com/foliot/foliot/internal/buildinfo"
	"github.com/foliot/foliot/internal/dispatch"
	"github.com/foliot/foliot/internal/maintenance"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/memstore"
	"github.com/foliot/foliot/internal/store/pebblestore"
	"github.com/foliot/foliot/internal/store/redisstore"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/telemetry/metrics"
	"github.com/foliot/foliot/internal/telemetry/tracing"
	"github.com/foliot/foliot/internal/trustedclock"
	"github.com/foliot/foliot/internal/webhook"
)

// Config holds the settings of a node.
type Config struct {
	Dir       string             // empty means that the tasks are not in a directory
	Redis     *redisstore.Config // nil means that the tasks are not in a Redis; if Dir is empty too, they are in memory. Open sets the fields that the node decides
	Keep      task.Policy
	AuditKeep time.Duration

	Listen    netip.AddrPort  // the address of the API
	Collector func() []string // host:port of the trace collector

	BodyLimit     int
	Hosts         []string // host names that requests may use
	ClientAddr    func(*http.Request) netip.Addr
	Authenticated func(ctx context.Context, namespace, token string) // called for each authenticated request

	Allow, Deny []netip.Prefix // addresses that tasks are allowed to call, or must not call
	Private     bool           // as long as there is no token, only users of this machine can create tasks

	Slots           int // the maximum number of attempts at once
	MaxIdle         int // the maximum number of connections kept open between attempts
	Lease           time.Duration
	Grace           time.Duration
	BreakerFailures int // zero means no breaker
	BreakerMax      time.Duration

	Metrics     bool         // serve /metrics
	Page        http.Handler // nil means no web page
	Connections func() int
	Certificate func() metrics.Certificate // nil means no TLS
}

// Node is a store with the parts that use it: the API, the dispatcher, the
// maintenance. It does not listen: the API is a handler. After Open, call
// Connect once, then Deliver and Maintain in goroutines of their own, then
// Close.
type Node struct {
	cfg         Config
	log         *slog.Logger
	Now         func() time.Time // see clock
	latest      func() time.Time // see requestClock; nil means Now
	Trusted     func() time.Time // the time for irreversible decisions, such as expiry; see package trustedclock
	Fatal       chan error       // receives at most one error, if the store's disk failed
	metrics     *metrics.Metrics
	tracer      *tracing.Tracer // nil means no tracing
	Store       store.Store
	own         *OwnAddresses
	refusals    refusals
	deaths      deaths
	activity    *activity.Recorder
	sender      *webhook.Sender
	API         *api.Server
	dispatch    *dispatch.Dispatcher
	maintenance *maintenance.Worker
}

// Open opens the store. ctx ends the wait for a Redis that is loading its file.
func Open(ctx context.Context, cfg Config, log *slog.Logger) (*Node, error) {
	n := &Node{cfg: cfg, log: log, Now: time.Now, Fatal: make(chan error, 1), deaths: deaths{log: log}}
	n.metrics = n.newMetrics()
	n.Trusted = trustedclock.New(n.clock, trustedclock.Warn(log)).Now
	if err := n.openStore(ctx); err != nil {
		return nil, err
	}
	return n, nil
}

// openStore opens the store, and connects it to the metrics.
func (n *Node) openStore(ctx context.Context) (err error) {
	if n.cfg.Redis != nil {
		return n.openRedis(ctx)
	}
	if n.cfg.Dir == "" {
		n.Store = memstore.New(memstore.Config{Policy: n.cfg.Keep, AuditKeep: n.cfg.AuditKeep})
		return nil
	}
	var reaped []*task.Task
	n.Store, err = pebblestore.Open(n.cfg.Dir, pebblestore.Config{
		Policy:    n.cfg.Keep,
		AuditKeep: n.cfg.AuditKeep,
		OnSync:    n.metrics.Sync,
		OnReap:    func(left []*task.Task) { reaped = left },
		OnFatal:   func(err error) { n.Fatal <- err }, // called at most once, and the channel has room
		Logger:    n.log,
	})
	if err != nil {
		return err
	}
	n.metrics.Reclaimed(len(reaped))
	n.reaped(reaped)
	return nil
}

// openRedis opens the store in Redis, which has a clock of its own.
func (n *Node) openRedis(ctx context.Context) error {
	c := *n.cfg.Redis
	c.Policy, c.AuditKeep, c.Logger = n.cfg.Keep, n.cfg.AuditKeep, n.log
	c.OnReap = n.reaped
	s, err := redisstore.Open(ctx, c)
	if err != nil {
		return err
	}
	n.Store, n.Now, n.latest, n.Trusted = s, s.Now, s.Latest, s.Trusted
	return nil
}

// reaped counts and logs the deaths among tasks whose lost leases the store
// removed.
func (n *Node) reaped(left []*task.Task) {
	n.metrics.Died(left)
	for _, t := range left {
		n.deaths.note(t)
	}
}

// redisReap is the interval at which lost leases are removed from a Redis. (In a
// directory, they are removed when it is opened.) The attempts of a dead node
// must be repeated at most one second after the end of their leases. This
// interval uses half of the second, and the other half is for all other delays.
// (With an interval of one second, 7 of 2,444 tasks came within a few
// milliseconds of the limit or after it.) Each run costs a master one ZRANGE per
// shard.
const redisReap = 500 * time.Millisecond

// redisGather is dispatch.Config.Gather for a Redis. At a thousand tasks a second
// it adds 1.2 ms to the median lateness, and fewer calls reach Redis.
const redisGather = 2 * time.Millisecond

// reapEvery returns the interval at which lost leases are removed.
func (n *Node) reapEvery() time.Duration {
	if n.cfg.Redis == nil {
		return 0 // a directory removes lost leases only when it is opened
	}
	return redisReap
}

// gather returns dispatch.Config.Gather.
func (n *Node) gather() time.Duration {
	if n.cfg.Redis == nil {
		return 0
	}
	return redisGather
}

// Connect builds the parts on top of the store and connects them. The node
// closes tracer.
func (n *Node) Connect(ctx context.Context, tracer *tracing.Tracer) {
	cfg := n.cfg
	n.tracer = tracer
	n.refusals.log = n.log
	n.own = NewOwnAddresses(n.log, []netip.AddrPort{cfg.Listen}, cfg.Collector, n.storeEndpoints)
	n.own.Refresh(ctx, time.Now())
	n.sender = webhook.New(webhook.Config{
		Allow:         cfg.Allow,
		Deny:          cfg.Deny,
		AllowLoopback: n.LoopbackOpen,
		Secrets:       n.signingKeys,
		Now:           n.clock,
		Own:           n.own.Set.Load,
		MaxIdle:       cfg.MaxIdle,
		Trace:         n.tracer.Attempt,
	})
	n.activity = activity.New(task.FloorMillis(n.clock()))
	n.API = api.New(api.Config{
		BodyLimit:     cfg.BodyLimit,
		AllowedHosts:  cfg.Hosts,
		ClientAddr:    cfg.ClientAddr,
		Authenticated: cfg.Authenticated,
		Observe:       n.metrics.Request,
		Trace:         tracing.Parent,
		Metrics:       n.metricsHandler(),
		Page:          n.cfg.Page,
		Backup:        n.backup(),
		Examine:       n.examiner(),
		Live:          n.live,
		History:       n.history,
		Attempts:      n.attempts,
		Near:          func() (int, task.Millis) { return n.dispatch.Near() },
		Egress:        n.egress,
		Version:       buildinfo.Version(),
		Now:           n.requestClock,
		Trusted:       n.Trusted,
		Log:           n.log,
	}, n.Store)
	permits, _ := n.Store.(store.PermitStore)
	n.dispatch = dispatch.New(dispatch.Config{
		Slots:           cfg.Slots,
		LeaseFor:        cfg.Lease,
		Gather:          n.gather(),
		Grace:           unlessZero(cfg.Grace),
		BreakerFailures: unlessZero(cfg.BreakerFailures),
		BreakerMax:      cfg.BreakerMax,
		ReapEvery:       n.reapEvery(),
		Observe:         n.settled,
		Scrubber:        n.Store,
		OnScrub:         n.metrics.Scrubbed,
		Permits:         permits,
		Now:             n.clock,
		Trusted:         n.Trusted,
		Logger:          n.log,
	}, notifying{n.metrics.Watch(n.Store), n.API.Notify}, n.sender.Deliver)
	n.maintenance = maintenance.New(maintenance.Config{Uses: n.API.TokenUses, Refusals: n.API.Refusals, KeepTokens: n.cfg.AuditKeep, Now: n.requestClock, Trusted: n.Trusted, Logger: n.log}, n.Store)
	n.Store.WatchSettings(n.configured)
	n.configured(n.Store.Settings())
	n.metrics.Ask(n.sources())
}

// clock reads the clock that decides when tasks are due. All callers of the
// store use it: the clock of the Redis servers, if there are any, otherwise the
// wall clock of this machine.
func (n *Node) clock() time.Time { return n.Now() }

// requestClock reads the same clock for times that count from a request, such as a
// delay. If the clocks of servers differ, or a clock is not known exactly, it
// returns the latest possible time, so that no delay is shortened.
func (n *Node) requestClock() time.Time {
	if n.latest != nil {
		return n.latest()
	}
	return n.Now()
}

// configured passes new settings to the parts.
func (n *Node) configured(s *settings.Settings) {
	n.dispatch.Configure(s)
	n.maintenance.Wake()
}

// unlessZero converts a zero of Config, which means none, to -1, which means none
// in the configurations of the parts.
func unlessZero[T int | time.Duration](v T) T {
	if v == 0 {
		return -1
	}
	return v
}

// Deliver runs the dispatcher until ctx ends, and returns its error.
func (n *Node) Deliver(ctx context.Context) error { return n.dispatch.Run(ctx) }

// Maintain does the background work until ctx ends: the maintenance, the list
// of own addresses, and the history of overdue tasks.
func (n *Node) Maintain(ctx context.Context) {
	var working sync.WaitGroup
	working.Go(func() { n.maintenance.Run(ctx) })
	working.Go(func() { n.own.run(ctx) })
	working.Go(func() { n.watchOverdue(ctx) })
	working.Wait()
}

// Stats returns the counters of the dispatcher.
func (n *Node) Stats() dispatch.Stats { return n.dispatch.Stats() }

// Release leaves the tasks that this server has not started to other servers on
// the same store. Call it before you wait for the attempts under way.
func (n *Node) Release() {
	if s, ok := n.Store.(interface{ Release() }); ok {
		s.Release()
	}
}

// storeEndpoints returns host:port of the store's servers and of the other
// nodes' APIs, or nil if no servers hold the store.
func (n *Node) storeEndpoints() []string {
	if s, shared := n.Store.(interface{ Endpoints() []string }); shared {
		return s.Endpoints()
	}
	return nil
}

// Failure returns the reason why dispatch ended. If the store reported an error
// of its own, that is the cause, and the dispatcher's error is only the
// consequence.
func (n *Node) Failure(err error) error {
	select {
	case cause := <-n.Fatal:
		return cause
	default:
		return fmt.Errorf("deliver tasks: %w", err)
	}
}

// Close releases the remaining parts and closes the store. Call it after
// Deliver and Maintain have returned.
func (n *Node) Close() error {
	n.deaths.flush()
	n.sender.Close()
	n.closeTracer()
	return n.Store.Close()
}
