package server

import (
	"context"
	"time"

	"github.com/foliot/foliot/internal/buildinfo"
	"github.com/foliot/foliot/internal/engine"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/pebblestore"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/telemetry/metrics"
	"github.com/foliot/foliot/internal/telemetry/tracing"
)

// newMetrics returns the metrics of a server, and can be called before the store
// is open.
func (s *Server) newMetrics() *metrics.Metrics {
	return metrics.New(metrics.Config{
		Version:  buildinfo.Version(),
		Logger:   s.log,
		Unsynced: s.cfg.Dir == "",
		Settings: func() *settings.Settings { return s.Node.Store.Standing().Settings },
	})
}

// listen is called for each event of the node.
func (s *Server) listen(happened engine.Event) {
	s.API.Notify(happened.Changed...)
	s.metrics.Reaped(happened.Reaped)
	e := happened.Settled
	if e.Claimed == nil {
		return
	}
	if e.Outcome.Verdict == task.Refusal && e.Outcome.Reason == task.ReasonEgressDenied { // the errors of tasks hide the address
		s.sparse.Warn("the egress policy refused a task", "namespace", e.Claimed.Namespace, "task", e.Claimed.Name, "why", e.Outcome.Detail)
	}
	s.metrics.Attempt(e.Claimed.Namespace, e.Claimed.Queue, e.Outcome, e.After)
}

// answered is called after each request to the API.
func (s *Server) answered(ctx context.Context, route, method string, status int, d time.Duration) {
	s.metrics.Request(route, method, status, d)
	tracing.Answered(ctx, route, method, status)
}

// sources returns the functions that provide values for the metrics of a server
// with a connected node.
func (s *Server) sources() metrics.Sources {
	from := metrics.Sources{
		Counts:   s.Node.Store.Counts,
		Index:    s.Node.Store,
		Now:      s.Node.Now,
		Dispatch: s.Node.Stats, Slots: s.cfg.Dispatch.Slots,
		Connections: func() int { return s.http.Connections() },
	}
	if s.certs != nil {
		from.Certificate = s.certs.State
	}
	if dir, ok := s.Node.Store.(*pebblestore.Store); ok {
		from.Disk = func() (metrics.Disk, error) {
			space, err := dir.Space()
			return metrics.Disk{Used: dir.Size(), Free: space.Free, Size: space.Total}, err
		}
	}
	if _, shared := s.Node.Store.(store.Cluster); shared {
		from.Standing = s.Node.Store.Standing
	}
	if s.tracer != nil {
		from.Spans = s.tracer.Counts
	}
	return from
}
