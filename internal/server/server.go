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

	"github.com/foliot/foliot/internal/fileaccess"
	"github.com/foliot/foliot/internal/page"
	"github.com/foliot/foliot/internal/server/config"
	"github.com/foliot/foliot/internal/server/httpserver"
	"github.com/foliot/foliot/internal/service"
	"github.com/foliot/foliot/internal/store/redisstore"
	"github.com/foliot/foliot/internal/telemetry/tracing"
)

// Server is a node behind its listener. Open builds the parts in the order of
// their start. Run starts its goroutines, stops them and waits for them.
type Server struct {
	cfg      config.Config
	log      *slog.Logger
	files    descriptors
	certs    *httpserver.Certificates // nil means no TLS
	listener net.Listener
	Node     *service.Service
	tracer   *tracing.Tracer // nil means no tracing
	http     *httpserver.Server
	spare    []byte // see newSpareHeap; allocated first, so that its memory is not that of former values
}

// Open listens on the address and opens the store. It serves and sends nothing
// before Run, but clients can already connect: a restart refuses no connection.
// ctx ends the wait for a Redis that is loading its file.
func Open(ctx context.Context, cfg config.Config, log *slog.Logger) (_ *Server, err error) {
	s := &Server{cfg: cfg, log: log, spare: newSpareHeap()}
	if s.files, err = budget(cfg.Concurrency, log); err != nil {
		return nil, err
	}
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
		s.tracer, err = newTracer(cfg, log)
	}
	if err != nil {
		s.listener.Close()
		return nil, errors.Join(err, s.Node.Store.Close())
	}
	if !secured && len(cfg.Hosts) > 0 {
		log.Warn("no access token exists: every client that reaches this server by a name of --host has full access", "hosts", cfg.Hosts)
	}
	s.Node.Connect(ctx, s.tracer)
	s.http = httpserver.New(s.listener, s.Node.API, httpserver.Config{
		Certs: s.certs, MaxConnections: s.files.clients, Proxies: cfg.Proxies, Trace: s.tracer.Handler, Log: log,
	})
	return s, nil
}

// Files has the content of the files that a configuration names. Each file is read
// once, because it can be a pipe.
type Files struct {
	First string                   // the first token; "": none
	Certs *httpserver.Certificates // nil: no TLS
	Redis *redisstore.Config       // with the certificates of the URL; nil: no Redis
}

// Check does all checks of Open before the store is opened, and changes nothing:
// an invalid or missing file is an error that names its flag.
func Check(cfg config.Config, log *slog.Logger) (f Files, err error) {
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
		c := cfg.Sharing.StoreConfig()
		f.Redis, err = &c, cfg.Redis.Configure(&c)
	case !cfg.InMemory():
		err = fileaccess.CheckDataDir("--data", cfg.Dir)
	}
	return f, err
}

// openNode opens the store. An error names the flag of the store, or gives
// advice about its servers.
func (s *Server) openNode(ctx context.Context, shared *redisstore.Config) (err error) {
	cfg := s.nodeConfig()
	switch {
	case s.cfg.Redis != nil:
		cfg.Redis = s.withAddress(shared)
	case !s.cfg.InMemory():
		if err := fileaccess.CloseDataDir("--data", s.cfg.Dir); err != nil {
			return err
		}
	}
	s.Node, err = service.Open(ctx, cfg, s.log)
	switch {
	case err == nil:
		return nil
	case s.cfg.Redis != nil:
		return s.cfg.Redis.Explain("open", err)
	}
	return fileaccess.Placed("--data", err)
}

// nodeConfig translates the configuration for the node.
func (s *Server) nodeConfig() service.Config {
	cfg := service.Config{
		Dir: s.cfg.Dir, Keep: s.cfg.Keep, AuditKeep: s.cfg.AuditKeep,
		Listen: s.listener.Addr().(*net.TCPAddr).AddrPort(), Collector: s.cfg.CollectorAddr,
		BodyLimit: s.cfg.BodyLimit, Hosts: s.cfg.Hosts, ClientAddr: httpserver.ClientAddr(s.cfg.Proxies), Authenticated: httpserver.Authenticated,
		Allow: s.cfg.Allow, Deny: s.cfg.Deny, Receivers: s.cfg.Receivers, Private: s.cfg.Private(),
		Slots: s.files.slots, MaxIdle: s.files.idle, Lease: s.cfg.Lease, Grace: s.cfg.Grace,
		BreakerFailures: s.cfg.BreakerFailures,
		LogChanges:      s.cfg.Changes, Connections: func() int { return s.http.Connections() },
	}
	if s.cfg.UI {
		cfg.Page = page.Handler()
	}
	if s.certs != nil {
		cfg.Certificate = s.certs.State
	}
	return cfg
}

// Addr returns the address of the listener.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Durability returns which failures an accepted task survives.
func (s *Server) Durability() string { return s.Node.Store.Standing().Durability }

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
		return s.Node.Failure(err)
	}
	s.log.Info("the server is stopping: no new attempts start", "grace", s.cfg.Grace.String())
	// First /readyz fails and each reply is its connection's last, so that
	// balancers and clients use other servers. The API still answers until
	// dispatch has ended: a receiver may create its next task.
	s.Node.API.Stop()
	s.http.Leave()
	stopDispatch()
	s.Node.Release()
	if err := <-dispatched; err != nil {
		return s.Node.Failure(err)
	}
	did := s.Node.Stats()
	s.log.Info("stopped", "delivered", did.Delivered, "failed", did.Failed, "deferred", did.Deferred, "refused", did.Refused,
		"interrupted", did.Interrupted, "dead", did.Dead, "late_p50", did.Late.P50.String(), "late_p99", did.Late.P99.String())
	return s.close(served, func() { stopKeeping(); kept() })
}

// keep starts the background work until ctx ends: the maintenance of the node
// and the check of the certificates. wait waits for both.
func (s *Server) keep(ctx context.Context, hangup <-chan os.Signal) (wait func()) {
	var working sync.WaitGroup
	working.Go(func() { s.Node.Maintain(ctx) })
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

// close releases the parts in the reverse order of their start. ended receives
// the result of Serve.
func (s *Server) close(ended <-chan error, stopKeeping func()) error {
	err := s.http.Shutdown(ended)
	stopKeeping()
	return errors.Join(err, s.Node.Close())
}
