package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/foliot/foliot/internal/api"
	"github.com/foliot/foliot/internal/buildinfo"
	"github.com/foliot/foliot/internal/dispatch"
	"github.com/foliot/foliot/internal/store/memstore"
	"github.com/foliot/foliot/internal/store/pebblestore"
	"github.com/foliot/foliot/internal/store/redisstore"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/telemetry/metrics"
	"github.com/foliot/foliot/internal/telemetry/tracing"
	"github.com/foliot/foliot/internal/trusted"
	"github.com/foliot/foliot/internal/upkeep"
	"github.com/foliot/foliot/internal/webhook"
)

// nodeConfig says what a node keeps, what it may call, and how much it does at once.
type nodeConfig struct {
	dir       string             // "": not in a directory
	redis     *redisstore.Config // nil: not in a Redis; then in memory. openNode sets what the node decides
	keep      task.Policy
	auditKeep time.Duration

	listen    netip.AddrPort  // of the API
	collector func() []string // host:port of what takes the traces

	bodyLimit  int
	hosts      []string // names that requests may be for
	clientAddr func(*http.Request) netip.Addr
	admitted   func(ctx context.Context, namespace, token string) // called for each request that is let in

	allow, deny []netip.Prefix // what tasks may call
	private     bool           // only users of this machine can create tasks, as long as there is no token

	slots           int // attempts at once
	maxIdle         int // connections kept open between attempts
	lease           time.Duration
	grace           time.Duration
	breakerFailures int // 0: no breaker
	breakerMax      time.Duration

	metrics     bool // serve them
	connections func() int
	certificate func() metrics.Certificate // nil: no TLS
}

// node is a store and all that works on it: the API, the dispatcher, the
// maintenance. It listens nowhere: the API is a handler. Whoever opens it calls
// connect once, then deliver and maintain in goroutines of their own, then close.
type node struct {
	cfg      nodeConfig
	log      *slog.Logger
	now      func() time.Time // see clock
	latest   func() time.Time // see requestClock; nil: now
	trusted  func() time.Time // see connect; the time by which things end
	fatal    chan error       // the store's medium failed: at most one error, sent by the store
	metrics  *metrics.Metrics
	tracer   *tracing.Tracer // nil: no tracing
	store    task.Store
	own      *ownAddresses
	refusals refusals
	deaths   deaths
	sender   *webhook.Sender
	api      *api.Server
	dispatch *dispatch.Dispatcher
	upkeep   *upkeep.Upkeep
}

// openNode opens the store. ctx ends the wait for a Redis that reads its file.
func openNode(ctx context.Context, cfg nodeConfig, log *slog.Logger) (*node, error) {
	n := &node{cfg: cfg, log: log, now: time.Now, fatal: make(chan error, 1), deaths: deaths{log: log}}
	n.metrics = n.newMetrics()
	n.trusted = trusted.New(n.clock, trusted.Warn(log)).Now
	if err := n.openStore(ctx); err != nil {
		return nil, err
	}
	return n, nil
}

// openStore opens the store, which tells the metrics of its syncs.
func (n *node) openStore(ctx context.Context) (err error) {
	if n.cfg.redis != nil {
		return n.openRedis(ctx)
	}
	if n.cfg.dir == "" {
		n.store = memstore.New(memstore.Config{Policy: n.cfg.keep, AuditKeep: n.cfg.auditKeep})
		return nil
	}
	var reaped []*task.Task
	n.store, err = pebblestore.Open(n.cfg.dir, pebblestore.Config{
		Policy:    n.cfg.keep,
		AuditKeep: n.cfg.auditKeep,
		OnSync:    n.metrics.Sync,
		OnReap:    func(left []*task.Task) { reaped = left },
		OnFatal:   func(err error) { n.fatal <- err }, // once: there is room for it
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
func (n *node) openRedis(ctx context.Context) error {
	c := *n.cfg.redis
	c.Policy, c.AuditKeep, c.Logger = n.cfg.keep, n.cfg.auditKeep, n.log
	c.OnReap = n.reaped
	s, err := redisstore.Open(ctx, c)
	if err != nil {
		return err
	}
	n.store, n.now, n.latest, n.trusted = s, s.Now, s.Latest, s.Trusted
	return nil
}

// reaped counts and logs the deaths among tasks whose leases the store took back.
func (n *node) reaped(left []*task.Task) {
	n.metrics.Died(left)
	for _, t := range left {
		n.deaths.note(t)
	}
}

// redisReap is how often lost leases are taken back: other than a directory's,
// a Redis's are not while it is opened. What a dead node had in flight is sent again
// within its lease and a second: of that second this is half, so that what else takes
// time has the other. (With a whole one, 7 of 2,444 tasks came some milliseconds after
// it, or just before.) It costs each master one ZRANGE a shard.
const redisReap = 500 * time.Millisecond

// reapEvery returns how often leases are taken back that nobody holds any more.
func (n *node) reapEvery() time.Duration {
	if n.cfg.redis == nil {
		return 0 // when the store was opened
	}
	return redisReap
}

// connect builds what stands on the store and tells each part of the others
// that it has to know. The node closes tracer.
func (n *node) connect(ctx context.Context, tracer *tracing.Tracer) {
	cfg := n.cfg
	n.tracer = tracer
	n.refusals.log = n.log
	n.own = newOwnAddresses(n.log, []netip.AddrPort{cfg.listen}, cfg.collector, n.storeEndpoints)
	n.own.refresh(ctx, time.Now())
	n.sender = webhook.New(webhook.Config{
		Allow:         cfg.allow,
		Deny:          cfg.deny,
		AllowLoopback: n.loopbackOpen,
		Secrets:       n.signingKeys,
		Now:           n.clock,
		Own:           n.own.set.Load,
		MaxIdle:       cfg.maxIdle,
		Trace:         n.tracer.Attempt,
	})
	n.api = api.New(api.Config{
		BodyLimit:    cfg.bodyLimit,
		AllowedHosts: cfg.hosts,
		ClientAddr:   cfg.clientAddr,
		Admitted:     cfg.admitted,
		Observe:      n.metrics.Request,
		Trace:        tracing.Parent,
		Metrics:      n.metricsHandler(),
		Backup:       n.backup(),
		Examine:      n.examiner(),
		Live:         n.live,
		Egress:       n.egress,
		Version:      buildinfo.Version(),
		Now:          n.requestClock,
		Trusted:      n.trusted,
		Log:          n.log,
	}, n.store)
	permits, _ := n.store.(task.Permits)
	n.dispatch = dispatch.New(dispatch.Config{
		Slots:           cfg.slots,
		LeaseFor:        cfg.lease,
		Grace:           unlessZero(cfg.grace),
		BreakerFailures: unlessZero(cfg.breakerFailures),
		BreakerMax:      cfg.breakerMax,
		ReapEvery:       n.reapEvery(),
		Observe:         n.settled,
		Scrubber:        n.store,
		OnScrub:         n.metrics.Scrubbed,
		Permits:         permits,
		Now:             n.clock,
		Trusted:         n.trusted,
		Logger:          n.log,
	}, notifying{n.metrics.Watch(n.store), n.api.Notify}, n.sender.Deliver)
	n.upkeep = upkeep.New(upkeep.Config{Uses: n.api.TokenUses, Refusals: n.api.Refusals, KeepTokens: n.cfg.auditKeep, Now: n.requestClock, Trusted: n.trusted, Logger: n.log}, n.store)
	n.store.WatchSettings(n.configured)
	n.configured(n.store.Settings())
	n.metrics.Ask(n.sources())
}

// clock reads the clock by which tasks are due. It is one for all who tell the
// store what time it is: a Redis's own where they are there, this machine's wall
// clock otherwise.
func (n *node) clock() time.Time { return n.now() }

// requestClock reads the same clock for what counts from a request: it is not
// behind clock, where several servers' clocks differ or one is not known exactly. So
// nothing happens earlier after a request than it says.
func (n *node) requestClock() time.Time {
	if n.latest != nil {
		return n.latest()
	}
	return n.now()
}

// configured hands on what operators have decided anew.
func (n *node) configured(s *task.Settings) {
	n.dispatch.Configure(s)
	n.upkeep.Look()
}

// unlessZero turns a duration or number of none into what the parts call that.
func unlessZero[T int | time.Duration](v T) T {
	if v == 0 {
		return -1
	}
	return v
}

// deliver runs the dispatcher until ctx ends, and returns its error.
func (n *node) deliver(ctx context.Context) error { return n.dispatch.Run(ctx) }

// maintain does the background work until ctx ends: upkeep, and the list of own
// addresses.
func (n *node) maintain(ctx context.Context) {
	var working sync.WaitGroup
	working.Go(func() { n.upkeep.Run(ctx) })
	working.Go(func() { n.own.run(ctx) })
	working.Wait()
}

// stats returns what the dispatcher has done.
func (n *node) stats() dispatch.Stats { return n.dispatch.Stats() }

// release lets other servers on the same store have the tasks that this one has
// not begun, before it waits for those that it has.
func (n *node) release() {
	if s, ok := n.store.(interface{ Release() }); ok {
		s.Release()
	}
}

// storeEndpoints returns host:port of the store's servers and of the other
// nodes' APIs; none if no servers hold the store.
func (n *node) storeEndpoints() []string {
	if s, shared := n.store.(interface{ Endpoints() []string }); shared {
		return s.Endpoints()
	}
	return nil
}

// failure returns why dispatch ended: what the store says of itself is the
// cause, what dispatch saw of it only the consequence.
func (n *node) failure(err error) error {
	select {
	case cause := <-n.fatal:
		return cause
	default:
		return fmt.Errorf("deliver tasks: %w", err)
	}
}

// close ends what is left after deliver and maintain have returned, and closes the
// store.
func (n *node) close() error {
	n.deaths.flush()
	n.sender.Close()
	n.closeTracer()
	return n.store.Close()
}
