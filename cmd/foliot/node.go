package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/foliot/foliot/internal/api"
	"github.com/foliot/foliot/internal/buildinfo"
	"github.com/foliot/foliot/internal/dispatch"
	"github.com/foliot/foliot/internal/fileaccess"
	"github.com/foliot/foliot/internal/store/memstore"
	"github.com/foliot/foliot/internal/store/pebblestore"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/telemetry/metrics"
	"github.com/foliot/foliot/internal/telemetry/tracing"
	"github.com/foliot/foliot/internal/trusted"
	"github.com/foliot/foliot/internal/upkeep"
	"github.com/foliot/foliot/internal/webhook"
)

// node is a server put together from its parts, in the order of their start.
// run starts its goroutines, stops them and waits.
type node struct {
	cfg      serveConfig
	log      *slog.Logger
	files    descriptors
	now      func() time.Time // see clock
	latest   func() time.Time // see requestClock; nil: now
	trusted  func() time.Time // see connect; the time by which things end
	fatal    chan error       // the store's medium failed: at most one error, sent by the store
	certs    *certificates    // nil: no TLS
	listener net.Listener
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
	http     *http.Server
	conns    *connections
}

// openNode takes the address and opens the store. Nothing is served or sent
// before run, but connections wait from here on: a restart refuses nobody. ctx
// ends the wait for a Redis that reads its file.
func openNode(ctx context.Context, cfg serveConfig, log *slog.Logger) (_ *node, err error) {
	n := &node{cfg: cfg, log: log, now: time.Now, fatal: make(chan error, 1), deaths: deaths{log: log}}
	if n.files, err = budget(cfg.concurrency, log); err != nil {
		return nil, err
	}
	if err := cfg.checkUnopened(); err != nil {
		return nil, err
	}
	if cfg.tls.cert != "" {
		if n.certs, err = loadCertificates(cfg.tls, log, time.Now()); err != nil {
			return nil, err
		}
	}
	if n.listener, err = net.Listen("tcp", cfg.addr); err != nil {
		return nil, listenError("--listen", cfg.addr, err)
	}
	n.metrics = n.newMetrics()
	n.trusted = trusted.New(n.clock, trusted.Warn(log)).Now
	if err := n.openStore(ctx); err != nil {
		n.listener.Close()
		return nil, err
	}
	if err = cfg.checkOpen(n.store.Settings().Secured()); err == nil {
		n.tracer, err = n.newTracer()
	}
	if err != nil {
		n.listener.Close()
		return nil, errors.Join(err, n.store.Close())
	}
	if !n.store.Settings().Secured() && len(cfg.hosts) > 0 {
		log.Warn("there is no access token: whoever reaches this server by the names of --host, through a proxy, may do everything", "hosts", cfg.hosts)
	}
	n.connect(ctx)
	return n, nil
}

// openStore opens the store, which tells the metrics of its syncs.
func (n *node) openStore(ctx context.Context) (err error) {
	if n.cfg.redis != nil {
		return n.openRedis(ctx)
	}
	if n.cfg.inMemory() {
		n.store = memstore.New(memstore.Config{Policy: n.cfg.keep, AuditKeep: n.cfg.auditKeep})
		return nil
	}
	if err := fileaccess.CheckDataDir("--data", n.cfg.dir); err != nil {
		return err
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
		return fileaccess.Placed("--data", err)
	}
	n.metrics.Reclaimed(len(reaped))
	n.reaped(reaped)
	return nil
}

// reaped counts and logs the deaths among tasks whose leases the store took back.
func (n *node) reaped(left []*task.Task) {
	n.metrics.Died(left)
	for _, t := range left {
		n.deaths.note(t)
	}
}

// reapEvery returns how often leases are taken back that nobody holds any more.
func (n *node) reapEvery() time.Duration {
	if n.cfg.redis == nil {
		return 0 // when the store was opened
	}
	return redisReap
}

// connect builds what stands on the store and tells each part of the others
// that it has to know.
func (n *node) connect(ctx context.Context) {
	cfg := n.cfg
	n.refusals.log = n.log
	n.own = newOwnAddresses(n.log, []netip.AddrPort{n.listener.Addr().(*net.TCPAddr).AddrPort()}, cfg.collectorAddr, n.storeEndpoints)
	n.own.refresh(ctx, time.Now())
	n.sender = webhook.New(webhook.Config{
		Allow:         cfg.allow,
		Deny:          cfg.deny,
		AllowLoopback: n.loopbackOpen,
		Secrets:       n.signingKeys,
		Now:           n.clock,
		Own:           n.own.set.Load,
		MaxIdle:       n.files.idle,
		Trace:         n.tracer.Attempt,
	})
	n.api = api.New(api.Config{
		BodyLimit:    cfg.bodyLimit,
		AllowedHosts: cfg.hosts,
		ClientAddr:   clientAddr(cfg.proxies),
		Admitted:     admitted,
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
		Slots:           n.files.slots,
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
	n.openHTTP()
	n.metrics.Ask(n.sources(n.files.slots))
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

// run serves until ctx ends, and then stops in an orderly way. An error means
// that a part failed; then nothing is waited for, as it may not come.
func (n *node) run(ctx context.Context) error {
	working := context.WithoutCancel(ctx)
	dispatching, stopDispatch := context.WithCancel(working)
	defer stopDispatch()
	dispatched, served := make(chan error, 1), make(chan error, 1)
	go func() { dispatched <- n.dispatch.Run(dispatching) }()
	go func() { served <- n.serve() }()
	keeping, stopKeeping := context.WithCancel(working)
	defer stopKeeping()
	kept := n.keep(keeping)

	select {
	case <-ctx.Done():
	case err := <-n.fatal:
		return err
	case err := <-served:
		return fmt.Errorf("serve %s: %w", n.listener.Addr(), err)
	case err := <-dispatched:
		return n.failure(err)
	}
	n.log.Info("stopping: no more attempts are started", "grace", n.cfg.grace.String())
	// First /readyz says no and each reply is its connection's last, so that
	// balancers and clients go elsewhere. Until dispatch has ended the API answers
	// nevertheless: a receiver may create its next task.
	n.api.Stop()
	n.conns.leave()
	stopDispatch()
	n.release()
	if err := <-dispatched; err != nil {
		return n.failure(err)
	}
	s := n.dispatch.Stats()
	n.log.Info("stopped", "delivered", s.Delivered, "failed", s.Failed, "deferred", s.Deferred, "refused", s.Refused,
		"interrupted", s.Interrupted, "dead", s.Dead, "late_p50", s.Late.P50.String(), "late_p99", s.Late.P99.String())
	return n.close(served, func() { stopKeeping(); kept() })
}

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

// keep starts the background work until ctx ends: upkeep,
// the list of own addresses and the look at the certificates. wait waits for them.
func (n *node) keep(ctx context.Context) (wait func()) {
	var working sync.WaitGroup
	working.Go(func() { n.upkeep.Run(ctx) })
	working.Go(func() { n.own.run(ctx) })
	if n.certs != nil {
		hangup := make(chan os.Signal, 1)
		signal.Notify(hangup, syscall.SIGHUP)
		working.Go(func() {
			n.certs.watch(ctx, hangup)
			signal.Stop(hangup)
		})
	}
	return working.Wait
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

// close releases the parts in the opposite order of their start. What is being
// answered may end; over HTTP/2 a GOAWAY says that no more will be.
func (n *node) close(ended <-chan error, stopKeeping func()) error {
	drain, cancel := context.WithTimeout(context.Background(), drainTimeout)
	defer cancel()
	err := n.http.Shutdown(drain)
	if errors.Is(err, context.DeadlineExceeded) {
		err = n.http.Close() // they had their time
	}
	err = errors.Join(err, served(<-ended))
	n.conns.close()
	stopKeeping()
	n.deaths.flush()
	n.sender.Close()
	n.closeTracer()
	return errors.Join(err, n.store.Close())
}
