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
	"strings"
	"syscall"
	"time"

	"github.com/foliot/foliot/internal/api"
	"github.com/foliot/foliot/internal/dispatch"
	"github.com/foliot/foliot/internal/store/memstore"
	"github.com/foliot/foliot/internal/store/pebblestore"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/telemetry/metrics"
	"github.com/foliot/foliot/internal/telemetry/tracing"
	"github.com/foliot/foliot/internal/webhook"
)

// node is a server put together from its parts, in the order of their start.
// run starts its goroutines, stops them and waits.
type node struct {
	cfg      serveConfig
	log      *slog.Logger
	fatal    chan error // the store's medium failed: at most one error, sent by the store
	certs    *certificates
	listener net.Listener
	metrics  *metrics.Metrics
	store    task.Store
	tracer   *tracing.Tracer // nil: nothing is traced
	sender   *webhook.Sender
	api      *api.Server
	http     *http.Server
	conns    *connections
	dispatch *dispatch.Dispatcher
}

// maxHeader bounds a request's headers.
const maxHeader = 64 << 10

// openNode takes the address and opens the store. Nothing is served or sent
// before run, but connections wait from here on: a restart refuses nobody.
func openNode(cfg serveConfig, log *slog.Logger) (_ *node, err error) {
	n := &node{cfg: cfg, log: log, fatal: make(chan error, 1)}
	files, err := budget(cfg.concurrency, log)
	if err != nil {
		return nil, err
	}
	if err := cfg.checkOpen(false); err != nil {
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
	if n.store, err = n.openStore(); err != nil {
		n.listener.Close()
		return nil, err
	}
	if n.tracer, err = n.newTracer(); err != nil {
		n.listener.Close()
		return nil, errors.Join(err, n.store.Close())
	}
	n.sender = webhook.New(webhook.Config{
		Allow:         cfg.allow,
		Deny:          cfg.deny,
		AllowLoopback: n.loopbackOpen,
		Secrets:       n.signingKeys,
		Own:           []netip.AddrPort{n.listener.Addr().(*net.TCPAddr).AddrPort()},
		MaxIdle:       files.idle,
		Trace:         n.tracer.Attempt,
	})
	n.api = api.New(api.Config{
		BodyLimit: cfg.bodyLimit, AllowedHosts: cfg.hosts, Version: version(), Log: log,
		Observe: n.metrics.Request, Metrics: n.metricsHandler(), Trace: tracing.Parent,
	}, n.store)
	n.dispatch = dispatch.New(dispatch.Config{
		Slots: files.slots, Grace: graceOf(cfg.grace), Logger: log,
		Observe: n.settled, Scrubber: n.store, OnScrub: n.metrics.Scrubbed,
	},
		notifying{n.metrics.Watch(n.store), n.api.Notify}, n.sender.Deliver)
	n.openHTTP(files.clients)
	n.metrics.Ask(n.sources(files.slots))
	return n, nil
}

func (n *node) openStore() (task.Store, error) {
	if n.cfg.dir == "" {
		return memstore.New(memstore.Config{Policy: n.cfg.keep}), nil
	}
	return pebblestore.Open(n.cfg.dir, pebblestore.Config{
		Policy:  n.cfg.keep,
		Logger:  n.log,
		OnFatal: func(err error) { n.fatal <- err }, // once: there is room for it
		OnSync:  n.metrics.Sync,
		OnReap:  n.metrics.Reclaimed,
	})
}

// openHTTP puts the API behind a server that takes at most so many connections.
func (n *node) openHTTP(clients int) {
	n.http = &http.Server{
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       bodyTimeout,
		WriteTimeout:      replyTimeout,
		IdleTimeout:       -1, // package idle sees to that
		MaxHeaderBytes:    maxHeader,
		// The API looks at the Host of every request, of OPTIONS * too.
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     slog.NewLogLogger(complaints{n.log.Handler()}, slog.LevelWarn),
	}
	idleness := n.cfg.idle
	if n.certs != nil {
		n.http.TLSConfig = n.certs.config()
		// HTTP/2 says goodbye when its connection was idle for long enough, and
		// only the server itself can do that. So package idle comes after it.
		n.http.IdleTimeout = idleness
		idleness += headerTimeout
	}
	n.conns = watchConnections(n.http, clients, idleness)
	n.http.Handler = trusting(n.cfg.proxies, logged(n.log, n.conns.saysGoodbye(n.tracer.Handler(n.api))))
}

// serve answers clients until the listener is closed.
func (n *node) serve() error {
	l := n.conns.listen(n.listener)
	if n.certs != nil {
		return n.http.ServeTLS(l, "", "")
	}
	return n.http.Serve(l)
}

// graceOf turns a grace of none into what dispatch calls that.
func graceOf(d time.Duration) time.Duration {
	if d == 0 {
		return -1
	}
	return d
}

// run serves until ctx ends, and then stops in an orderly way. An error means
// that a part failed; then nothing is waited for, as it may not come.
func (n *node) run(ctx context.Context) error {
	dispatching, stopDispatch := context.WithCancel(context.WithoutCancel(ctx))
	defer stopDispatch()
	dispatched, served := make(chan error, 1), make(chan error, 1)
	go func() { dispatched <- n.dispatch.Run(dispatching) }()
	go func() { served <- n.serve() }()
	stopWatching := n.watch(dispatching)
	defer stopWatching()

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
	if err := <-dispatched; err != nil {
		return n.failure(err)
	}
	s := n.dispatch.Stats()
	n.log.Info("stopped", "delivered", s.Delivered, "failed", s.Failed, "deferred", s.Deferred, "refused", s.Refused,
		"interrupted", s.Interrupted, "dead", s.Dead, "late_p50", s.Late.P50.String(), "late_p99", s.Late.P99.String())
	return n.close(served)
}

// watch starts what looks after the certificate. The function it returns stops
// that and waits.
func (n *node) watch(ctx context.Context) (stop func()) {
	if n.certs == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	hangup, ended := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(hangup, syscall.SIGHUP)
	go func() {
		defer close(ended)
		n.certs.watch(ctx, hangup)
	}()
	return func() {
		signal.Stop(hangup)
		cancel()
		<-ended
	}
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

// close releases the parts in the opposite order of their start. What is still
// answered may end; HTTP/2 is told by a GOAWAY.
func (n *node) close(ended <-chan error) error {
	drain, cancel := context.WithTimeout(context.Background(), drainTimeout)
	defer cancel()
	err := n.http.Shutdown(drain)
	if errors.Is(err, context.DeadlineExceeded) {
		err = n.http.Close() // they had their time
	}
	err = errors.Join(err, served(<-ended))
	n.conns.close()
	n.sender.Close()
	n.closeTracer()
	return errors.Join(err, n.store.Close())
}

// complaints is where net/http tells of clients. A handshake that failed is a
// scanner's or a stranger's doing, and no warning.
type complaints struct{ slog.Handler }

// Handle implements slog.Handler.
func (c complaints) Handle(ctx context.Context, r slog.Record) error {
	if strings.HasPrefix(r.Message, "http: TLS handshake error") {
		r.Level = slog.LevelDebug
		if !c.Enabled(ctx, r.Level) {
			return nil
		}
	}
	return c.Handler.Handle(ctx, r)
}
