package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

var (
	syncBuckets  = []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5}
	batchBuckets = []float64{1, 2, 4, 8, 16, 32, 64, 128, 256, 512}
)

// storeMetrics counts the work of the store.
type storeMetrics struct {
	sync, batch prometheus.Histogram

	reclaims, swept, scrubs, repairs prometheus.Counter
}

func newStore(r prometheus.Registerer, unsynced bool) storeMetrics {
	counter := func(name, help string) prometheus.Counter {
		c := prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
		r.MustRegister(c)
		return c
	}
	s := storeMetrics{
		sync: prometheus.NewHistogram(native(prometheus.HistogramOpts{
			Name: "foliot_sync_seconds", Buckets: syncBuckets,
			Help: "From the time a batch of changes is applied until the log with these changes is synced. No reply is faster.",
		})),
		batch: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "foliot_sync_batch_changes", Buckets: batchBuckets,
			Help: "Changes that shared a sync.",
		}),
		reclaims: counter("foliot_reclaims_total", "Leases that were taken back because their attempt was not settled: the process died or lost them."),
		swept:    counter("foliot_swept_total", "Records that were removed because their retention had ended."),
		scrubs:   counter("foliot_scrubs_total", "Completed scrubs of the whole store."),
		repairs:  counter("foliot_scrub_repairs_total", "Errors that scrubs found and repaired. Each is a fault of Foliot or of the disk."),
	}
	if !unsynced {
		r.MustRegister(s.sync, s.batch)
	}
	return s
}

// Sync counts a sync of the log: how long it took, and how many changes waited
// for it.
func (m *Metrics) Sync(d time.Duration, changes int) {
	m.store.sync.Observe(d.Seconds())
	m.store.batch.Observe(float64(changes))
}

// Reaped counts tasks after the store took back their leases or refused them, and the
// deaths among them, so Config.Settings must work by then.
func (m *Metrics) Reaped(left []*task.Task) {
	for _, t := range left {
		if t.Reason != task.ReasonRefused {
			m.store.reclaims.Inc()
		}
		m.deliveries.of(t.Namespace, t.Queue).ended(t)
	}
}

// Swept counts records that were removed at the end of their retention.
func (m *Metrics) Swept(n int) { m.store.swept.Add(float64(n)) }

// Scrubbed counts one step of a scrub.
func (m *Metrics) Scrubbed(s store.Scrubbed) {
	m.store.repairs.Add(float64(len(s.Repairs)))
	if s.Next == "" {
		m.store.scrubs.Inc()
	}
}
