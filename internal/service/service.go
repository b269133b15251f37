package service

import (
	"context"
	"crypto/x509"
	"log/slog"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/foliot/foliot/internal/api"
	"github.com/foliot/foliot/internal/buildinfo"
	"github.com/foliot/foliot/internal/dispatch"
	"github.com/foliot/foliot/internal/maintenance"
	"github.com/foliot/foliot/internal/medium"
	"github.com/foliot/foliot/internal/medium/directory"
	"github.com/foliot/foliot/internal/medium/memory"
	"github.com/foliot/foliot/internal/medium/redis"
	"github.com/foliot/foliot/internal/node"
	"github.com/foliot/foliot/internal/outgoing"
	"github.com/foliot/foliot/internal/sparselog"
	"github.com/foliot/foliot/internal/store/redisstore"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/telemetry/metrics"
	"github.com/foliot/foliot/internal/telemetry/tracing"
	"github.com/foliot/foliot/internal/webhook"
)

// Config holds the settings of a service.
type Config struct {
	// The tasks are in Redis if that is not nil, otherwise in Dir if that is
	// not empty, otherwise in memory. Open sets the fields of Redis that depend
	// on the node.
	Dir       string
	Redis     *redisstore.Config
	Keep      task.Policy   // how long ended tasks are kept
	AuditKeep time.Duration // how long entries of the audit log are kept

	Listen    netip.AddrPort  // the address of the API
	Collector func() []string // host:port of the trace collector

	BodyLimit     int
	Hosts         []string // host names that requests may use
	ClientAddr    func(*http.Request) netip.Addr
	Authenticated func(context.Context) // called for each authenticated request

	Allow, Deny []netip.Prefix // addresses that tasks are allowed to call, or must not call
	Receivers   *x509.CertPool // the authorities of receivers; nil means those of the system
	Private     bool           // only users of this machine can create tasks, as long as there is no token

	Slots           int // the maximum number of attempts at once
	MaxIdle         int // the maximum number of connections kept open between attempts
	Lease           time.Duration
	Grace           time.Duration // zero means no grace
	BreakerFailures int           // zero means no breaker

	LogChanges  bool         // log the changes of tasks and schedules by clients
	Page        http.Handler // nil means no web page
	Connections func() int
	Certificate func() metrics.Certificate // nil means no TLS
}

// Service is a node with an API, a sender of requests, metrics and traces. It
// does not listen: the API is a handler. After Open, call Connect once. Then
// call Deliver and Maintain, each in its own goroutine. Call Close at the end.
type Service struct {
	*node.Node

	API *api.Server

	cfg     Config
	log     *slog.Logger
	sparse  *slog.Logger // log for lines that may be repeated
	metrics *metrics.Metrics
	tracer  *tracing.Tracer // nil means no tracing
	sender  *outgoing.Sender
}

// Open opens the store. If a Redis is still loading its file, Open waits for it
// until ctx ends.
func Open(ctx context.Context, cfg Config, log *slog.Logger) (*Service, error) {
	s := &Service{cfg: cfg, log: log, sparse: sparselog.New(log)}
	s.metrics = s.newMetrics()
	var early []*task.Task // reaped while the store opens: the settings that decide where they count are not readable yet
	onReap := func(left []*task.Task) {
		if s.Node == nil {
			early = append(early, left...)
			return
		}
		s.reaped(left)
	}
	var err error
	s.Node, err = node.Open(ctx, cfg.medium(), medium.Config{
		Keep: cfg.Keep, AuditKeep: cfg.AuditKeep, OnReap: onReap, OnSync: s.metrics.Sync, Logger: log,
	})
	if err != nil {
		return nil, err
	}
	s.reaped(early)
	return s, nil
}

// medium returns the place that keeps the tasks.
func (c *Config) medium() medium.Medium {
	switch {
	case c.Redis != nil:
		return redis.Medium{Config: *c.Redis}
	case c.Dir != "":
		return directory.Medium{Path: c.Dir}
	}
	return memory.Medium{}
}

// reaped counts the tasks whose lost leases the store removed, and the deaths
// among them. A directory removes such leases only when it is opened.
func (s *Service) reaped(left []*task.Task) {
	if s.cfg.Dir != "" {
		s.metrics.Reclaimed(len(left))
	}
	s.metrics.Died(left)
}

// Connect builds the parts on top of the store and connects them. The service
// closes tracer.
func (s *Service) Connect(ctx context.Context, tracer *tracing.Tracer) {
	cfg := s.cfg
	s.tracer = tracer
	s.sender = outgoing.New(ctx, s.Node, webhook.Config{
		Allow:         cfg.Allow,
		Deny:          cfg.Deny,
		Authorities:   cfg.Receivers,
		AllowLoopback: s.LoopbackOpen,
		MaxIdle:       cfg.MaxIdle,
		Trace:         s.tracer.Attempt,
	}, []netip.AddrPort{cfg.Listen}, cfg.Collector)
	s.API = api.New(api.Config{
		BodyLimit:     cfg.BodyLimit,
		AllowedHosts:  cfg.Hosts,
		ClientAddr:    cfg.ClientAddr,
		Authenticated: cfg.Authenticated,
		Observe:       s.metrics.Request,
		Trace:         tracing.Parent,
		Metrics:       s.metrics.Handler(),
		Page:          cfg.Page,
		Backup:        s.Backup(),
		Examine:       s.examine(),
		WaitsFor:      s.WaitsFor,
		Live:          s.Live,
		History:       s.History,
		Attempts:      s.RecentAttempts,
		Near:          s.Near,
		Egress:        s.egress,
		Version:       buildinfo.Version(),
		Now:           s.Latest,
		Trusted:       s.Trusted,
		Log:           s.log,
		LogChanges:    cfg.LogChanges,
	}, s.Store)
	s.OnChange(s.API.Notify)
	s.Node.Connect(node.Config{
		Dispatch: dispatch.Config{
			Slots:           cfg.Slots,
			LeaseFor:        cfg.Lease,
			Grace:           unlessZero(cfg.Grace),
			BreakerFailures: unlessZero(cfg.BreakerFailures),
			Observe:         s.settled,
			OnScrub:         s.metrics.Scrubbed,
			OnSweep:         s.metrics.Swept,
			OnReap:          s.metrics.Reclaimed,
		},
		Deliver:     s.sender.Deliver,
		Maintenance: maintenance.Config{Uses: s.API.TokenUses, Refusals: s.API.Refusals, KeepTokens: cfg.AuditKeep},
	})
	s.metrics.Ask(s.sources())
}

// unlessZero returns v, or -1 if v is zero. Zero means none in Config. In the
// configurations of the parts, -1 means none.
func unlessZero[T int | time.Duration](v T) T {
	if v == 0 {
		return -1
	}
	return v
}

// Maintain does the background work until ctx ends. That is the work of the
// node, and the updates of the server's own addresses.
func (s *Service) Maintain(ctx context.Context) {
	var working sync.WaitGroup
	working.Go(func() { s.Node.Maintain(ctx) })
	working.Go(func() { s.sender.Run(ctx) })
	working.Wait()
}

// LoopbackOpen reports whether tasks are allowed to call loopback addresses.
// They are allowed only while every client that can create tasks could also
// call these addresses without Foliot.
func (s *Service) LoopbackOpen() bool { return s.cfg.Private && !s.Store.Standing().Settings.Secured() }

// Close closes the sender, the tracer and the store. It must not be called
// before Deliver and Maintain have returned.
func (s *Service) Close() error {
	s.sender.Close()
	s.closeTracer()
	return s.Node.Close()
}
