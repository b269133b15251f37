// Package metrics exports the figures of a foliot.Node to Prometheus. Only
// programs that import it link the Prometheus client.
//
//	prometheus.MustRegister(metrics.New(node))
//
// The metrics have the names and labels of those of `foliot serve`, so one
// dashboard and one set of alerts serve both; docs/observability.md lists them.
// A Node also has foliot_handler_attempts_total, the ended attempts by kind and
// outcome, and foliot_handlers_hanging, the handlers that still run after the
// Timeout of their task.
package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/foliot/foliot"
	"github.com/foliot/foliot/internal/buildinfo"
	"github.com/foliot/foliot/internal/engine"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/telemetry/metrics"
)

// New returns a collector that counts the work of n from now on, so call it
// before Run, and once for each Node. A program with several Nodes gives each a
// label of its own, with prometheus.WrapRegistererWith. A scrape reads the number
// of tasks by state and the oldest overdue task of each queue, which takes a few
// milliseconds.
func New(n *foliot.Node) prometheus.Collector {
	core := engine.Of(n)
	m := metrics.New(metrics.Config{
		Version: buildinfo.Version(), Logger: core.Log(), Embedded: true,
		Settings: func() *settings.Settings { return core.Store.Standing().Settings },
	})
	attempts := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "foliot_handler_attempts_total", Help: "Ended attempts of handlers, by kind and outcome.",
	}, []string{"kind", "outcome"})
	hanging := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "foliot_handlers_hanging", Help: "Handlers that still run after the Timeout of their task.",
	}, func() float64 { return float64(core.Stats().Hanging) })
	m.Registry().MustRegister(attempts, hanging)
	sources := metrics.Sources{Counts: core.Store.Counts, Index: core.Store, Now: core.Now, Dispatch: core.Stats, Slots: core.Slots()}
	if core.Store.Standing().Shared {
		sources.Standing = core.Store.Standing
	}
	m.Ask(sources)
	core.Listen(func(happened engine.Event) {
		m.Reaped(happened.Reaped)
		if e := happened.Settled; e.Claimed != nil {
			m.Attempt(e.Claimed.Namespace, e.Claimed.Queue, e.Outcome, e.After)
			if kind := e.Claimed.Request.Kind; kind != "" {
				attempts.WithLabelValues(kind, metrics.OutcomeName(e.Outcome.Verdict, e.After)).Inc()
			}
		}
	})
	return collector{m.Registry()}
}

// collector describes nothing, because the state of the Node decides which
// metrics there are.
type collector struct{ *prometheus.Registry }

func (collector) Describe(chan<- *prometheus.Desc) {}
