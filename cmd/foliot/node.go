package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/foliot/foliot/internal/api"
	"github.com/foliot/foliot/internal/dispatch"
	"github.com/foliot/foliot/internal/store/memstore"
	"github.com/foliot/foliot/internal/store/pebblestore"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/webhook"
)

// node is a server put together from its parts, in the order of their start.
// run starts its goroutines, stops them and waits.
type node struct {
	cfg      serveConfig
	log      *slog.Logger
	fatal    chan error // the store's medium failed: at most one error, sent by the store
	listener net.Listener
	store    task.Store
	sender   *webhook.Sender
	api      *api.Server
	http     *http.Server
	dispatch *dispatch.Dispatcher
}

// maxHeader bounds a request's headers.
const maxHeader = 64 << 10

// openNode takes the address and opens the store. Nothing is served or sent
// before run, but connections wait from here on: a restart refuses nobody.
func openNode(cfg serveConfig, log *slog.Logger) (*node, error) {
	n := &node{cfg: cfg, log: log, fatal: make(chan error, 1)}
	files, err := budget(cfg.concurrency, log)
	if err != nil {
		return nil, err
	}
	if n.listener, err = net.Listen("tcp", cfg.addr); err != nil {
		return nil, listenError("--listen", cfg.addr, err)
	}
	n.listener = files.limited(n.listener)
	if n.store, err = n.openStore(); err != nil {
		n.listener.Close()
		return nil, err
	}
	n.sender = webhook.New(webhook.Config{
		Allow:         cfg.allow,
		AllowLoopback: private(cfg),
		Own:           []netip.AddrPort{n.listener.Addr().(*net.TCPAddr).AddrPort()},
		MaxIdle:       files.idle,
	})
	n.api = api.New(api.Config{BodyLimit: cfg.bodyLimit, AllowedHosts: cfg.hosts, Version: version(), Log: log}, n.store)
	n.dispatch = dispatch.New(dispatch.Config{Slots: files.slots, Grace: graceOf(cfg.grace), Logger: log},
		notifying{n.store, n.api.Notify}, n.sender.Deliver)
	n.http = &http.Server{
		Handler:           n.api,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       bodyTimeout,
		WriteTimeout:      replyTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		// The API looks at the Host of every request, of OPTIONS * too.
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	return n, nil
}

// private reports whether nobody but this machine's users can create tasks.
// They could call loopback themselves; others must not through us.
func private(cfg serveConfig) bool { return isLoopback(cfg.addr) && len(cfg.hosts) == 0 }

func (n *node) openStore() (task.Store, error) {
	if n.cfg.dir == "" {
		return memstore.New(memstore.Config{}), nil
	}
	return pebblestore.Open(n.cfg.dir, pebblestore.Config{
		Logger:  n.log,
		OnFatal: func(err error) { n.fatal <- err }, // once: there is room for it
	})
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
	go func() { served <- n.http.Serve(n.listener) }()

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
	n.api.Stop()
	stopDispatch()
	// Until dispatch has ended the API answers: a receiver may create its next task.
	if err := <-dispatched; err != nil {
		return n.failure(err)
	}
	s := n.dispatch.Stats()
	n.log.Info("stopped", "delivered", s.Delivered, "failed", s.Failed, "deferred", s.Deferred, "refused", s.Refused,
		"interrupted", s.Interrupted, "dead", s.Dead, "late_p50", s.Late.P50.String(), "late_p99", s.Late.P99.String())
	return n.close(served)
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

// close releases the parts in the opposite order of their start.
func (n *node) close(ended <-chan error) error {
	drain, cancel := context.WithTimeout(context.Background(), drainTimeout)
	defer cancel()
	err := n.http.Shutdown(drain)
	if errors.Is(err, context.DeadlineExceeded) {
		err = n.http.Close() // they had their time
	}
	err = errors.Join(err, served(<-ended))
	n.sender.Close()
	return errors.Join(err, n.store.Close())
}
