package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/foliot/foliot/internal/api"
	"github.com/foliot/foliot/internal/buildinfo"
	"github.com/foliot/foliot/internal/engine"
	"github.com/foliot/foliot/internal/engine/directory"
	"github.com/foliot/foliot/internal/engine/memory"
	"github.com/foliot/foliot/internal/engine/postgres"
	"github.com/foliot/foliot/internal/engine/redis"
	"github.com/foliot/foliot/internal/fileaccess"
	"github.com/foliot/foliot/internal/outgoing"
	"github.com/foliot/foliot/internal/server/config"
	"github.com/foliot/foliot/internal/server/httpserver"
	"github.com/foliot/foliot/internal/sparselog"
	"github.com/foliot/foliot/internal/store/redisstore"
	"github.com/foliot/foliot/internal/telemetry/metrics"
	"github.com/foliot/foliot/internal/telemetry/tracing"
)

// Server is a node behind its listener, with the API, the sender of requests,
// metrics and traces. Open builds the parts in the order of their start, and Run
// starts its goroutines, stops them and waits for them.
type Server struct {
	Node *engine.Node
	API  *api.Server

	cfg      config.Config
	log      *slog.Logger
	sparse   *slog.Logger             // log for lines that may be repeated
	certs    *httpserver.Certificates // nil means no TLS
	listener net.Listener
	metrics  *metrics.Metrics
	tracer   *tracing.Tracer // nil means no tracing
	sender   *outgoing.Sender
	http     *httpserver.Server
	spare    []byte // see newSpareHeap; allocated first, so that its memory is not that of former values
}

// Open listens on the address and opens the store. It serves and sends nothing
// before Run, but clients can already connect: a restart refuses no connection.
// ctx ends the wait for a Redis that is loading its file.
func Open(ctx context.Context, cfg config.Config, log *slog.Logger) (_ *Server, err error) {
	s := &Server{cfg: cfg, log: log, sparse: sparselog.New(log), spare: newSpareHeap()}
	files, err := budget(cfg.Dispatch.Slots, log)
	if err != nil {
		return nil, err
	}
	s.cfg.Dispatch.Slots, s.cfg.Sender.MaxIdle = files.slots, files.idle
	checked, err := Check(cfg, log)
	if err != nil {
		return nil, err
	}
	s.certs = checked.Certs
	if s.listener, err = net.Listen("tcp", cfg.Addr); err != nil {
		return nil, httpserver.ListenError("--listen", cfg.Addr, err)
	}
	if err := s.openNode(ctx, checked.Redis); err != nil {
		s.listener.Close()
		return nil, err
	}
	if checked.First != "" {
		err = s.bootstrap(ctx, checked.First)
	}
	secured := s.Node.Store.Standing().Settings.Secured()
	if err == nil {
		err = cfg.CheckOpen(secured)
	}
	if err == nil {
		cfg.Tracing.Version, cfg.Tracing.Logger = buildinfo.Version(), log
		s.tracer, err = tracing.New(cfg.Tracing)
	}
	if err != nil {
		s.listener.Close()
		return nil, errors.Join(err, s.Node.Close())
	}
	if hosts := cfg.API.AllowedHosts; !secured && len(hosts) > 0 {
		log.Warn("no access token exists: every client that reaches this server by a name of --host has full access", "hosts", hosts)
	}
	s.connect(ctx)
	s.http = httpserver.New(s.listener, s.API, httpserver.Config{
		Certs: s.certs, MaxConnections: files.clients, Proxies: cfg.Proxies, Trace: s.tracer.Handler, Log: log,
	})
	return s, nil
}

// files has the content of the files that a configuration names. Each file is read
// once, because it can be a pipe.
type files struct {
	First string                   // the first token; "": none
	Certs *httpserver.Certificates // nil: no TLS
	Redis redisstore.Config        // with the certificates of the URL, if there is one
}

// Check does all checks of Open before the store is opened, and changes nothing:
// an invalid or missing file is an error that names its flag.
func Check(cfg config.Config, log *slog.Logger) (f files, err error) {
	if f.First, err = readBootstrap(cfg.BootstrapToken); err != nil {
		return f, err
	}
	if err := cfg.CheckUnopened(f.First != ""); err != nil {
		return f, err
	}
	if cfg.TLS.Cert != "" {
		if f.Certs, err = httpserver.LoadCertificates(cfg.TLS, log, time.Now()); err != nil {
			return f, err
		}
	}
	switch {
	case cfg.Redis != nil:
		f.Redis = cfg.Shared
		err = cfg.Redis.Configure(&f.Redis)
	case cfg.Dir != "":
		err = fileaccess.CheckDataDir("--data", cfg.Dir)
	}
	return f, err
}

// openNode opens the store, or returns an error with the flag of the store, or
// with advice about its servers.
func (s *Server) openNode(ctx context.Context, shared redisstore.Config) (err error) {
	s.metrics = s.newMetrics()
	c := s.cfg.Store
	c.Logger, c.OnSync = s.log, s.metrics.Sync
	var m engine.Medium = memory.Medium{}
	address, apis := advertised(s.listener.Addr()), func() []string { return apisOf(s.listener.Addr()) }
	switch {
	case s.cfg.Redis != nil:
		shared.Address, shared.APIs = address, apis
		m = redis.Medium{Config: shared}
	case s.cfg.Postgres.URL != "":
		shared := s.cfg.Postgres
		shared.Address, shared.APIs = address, apis
		m = postgres.Medium{Config: shared}
	case s.cfg.Dir != "":
		if err := fileaccess.CloseDataDir("--data", s.cfg.Dir); err != nil {
			return err
		}
		m = directory.Medium{Path: s.cfg.Dir}
	}
	s.Node, err = engine.Open(ctx, m, c)
	switch {
	case err == nil:
		s.metrics.Reaped(s.Node.Early) // the settings, which decide where they count, were not readable earlier
		return nil
	case s.cfg.Redis != nil:
		return s.cfg.Redis.Explain("open", err)
	case s.cfg.Postgres.URL != "":
		return err // which names the store
	}
	return fileaccess.Placed("--data", err)
}

// Addr returns the address of the listener.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Run serves until ctx ends, and then stops in an orderly way. If a
// part failed, it returns an error and waits for no other part, because that
// could take forever. A signal on hangup reloads the TLS files.
func (s *Server) Run(ctx context.Context, hangup <-chan os.Signal) error {
	defer runtime.KeepAlive(s)
	working := context.WithoutCancel(ctx)
	dispatching, stopDispatch := context.WithCancel(working)
	defer stopDispatch()
	dispatched, served := make(chan error, 1), make(chan error, 1)
	go func() { dispatched <- s.Node.Deliver(dispatching) }()
	go func() { served <- s.http.Serve() }()
	keeping, stopKeeping := context.WithCancel(working)
	defer stopKeeping()
	kept := s.keep(keeping, hangup)

	select {
	case <-ctx.Done():
	case err := <-s.Node.Fatal:
		return err
	case err := <-served:
		return fmt.Errorf("serve %s: %w", s.listener.Addr(), err)
	case err := <-dispatched:
		return err
	}
	s.log.Info("the server is stopping: no new attempts start", "grace", max(s.cfg.Dispatch.Grace, 0).String())
	// First /readyz fails and each reply is its connection's last, so that
	// balancers and clients use other servers. The API still answers until
	// dispatch has ended, because a receiver may create its next task.
	s.API.Stop()
	s.http.Leave()
	stopDispatch()
	s.Node.Release()
	if err := <-dispatched; err != nil {
		return err
	}
	did := s.Node.Stats()
	s.log.Info("stopped", "delivered", did.Delivered, "failed", did.Failed, "snoozed", did.Snoozed, "refused", did.Refused,
		"interrupted", did.Interrupted, "dead", did.Dead, "late_p50", did.Late.P50.String(), "late_p99", did.Late.P99.String())
	err := s.http.Shutdown(served)
	stopKeeping()
	kept()
	return errors.Join(err, s.close())
}

// keep starts the background work until ctx ends: the maintenance of the node,
// the updates of the server's own addresses, and the check of the certificates.
// wait waits for all.
func (s *Server) keep(ctx context.Context, hangup <-chan os.Signal) (wait func()) {
	var working sync.WaitGroup
	working.Go(func() { s.Node.Maintain(ctx) })
	working.Go(func() { s.sender.Run(ctx) })
	working.Go(func() {
		if s.certs != nil {
			s.certs.Watch(ctx, hangup)
			return
		}
		for {
			select {
			case <-ctx.Done():
				return
			case <-hangup:
				s.log.Info("SIGHUP has no effect: the server has no TLS files to reload, and reads other settings only at its start")
			}
		}
	})
	return working.Wait
}

// close closes the sender, the tracer and the store. If the last spans cannot be
// exported, it only logs that, because the exit must not fail because spans are
// lost.
func (s *Server) close() error {
	s.sender.Close()
	if err := s.tracer.Close(context.Background()); err != nil {
		s.log.Warn("spans were lost when the server stopped: the last export failed", "error", err)
	}
	return s.Node.Close()
}
