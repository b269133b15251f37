package metrics

import (
	"log/slog"
	"net/http"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/foliot/foliot/internal/task"
)

// Config says what is counted apart. The zero Config works.
type Config struct {
	// Version is what foliot_build_info shows. Default: "dev".
	Version string

	// Settings decide which queues have series of their own. It is called by
	// many goroutines and must not block. Default: there are none, and only the
	// default queue of the default namespace is counted apart.
	Settings func() *task.Settings

	// Unsynced says that the store has no log of its own that it syncs: there are
	// no metrics of syncs then.
	Unsynced bool

	// MaxQueues bounds the queues that have series of their own: each costs
	// about 60 series, or 40 where native histograms are taken. A queue keeps its
	// series until the process ends. Default: 100.
	MaxQueues int

	// Logger is told what failed while a scrape was under way. Default: none.
	Logger *slog.Logger
}

func (c Config) withDefaults() Config {
	if c.Version == "" {
		c.Version = "dev"
	}
	if c.Settings == nil {
		none := task.NewSettings()
		c.Settings = func() *task.Settings { return none }
	}
	if c.MaxQueues <= 0 {
		c.MaxQueues = 100
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// Metrics are the counts of one process. It starts no goroutine. All methods
// may be called by many goroutines.
type Metrics struct {
	config   Config
	registry *prometheus.Registry

	deliveries deliveries
	requests   requests
	store      store
}

// New returns metrics at zero.
func New(config Config) *Metrics {
	m := &Metrics{config: config.withDefaults(), registry: prometheus.NewRegistry()}
	m.deliveries = newDeliveries(m.registry, m.config)
	m.requests = newRequests(m.registry)
	m.store = newStore(m.registry, m.config.Unsynced)
	build := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "foliot_build_info", Help: "Always 1; the labels say which build this is.",
	}, []string{"version", "go_version"})
	build.WithLabelValues(m.config.Version, runtime.Version()).Set(1)
	m.registry.MustRegister(build,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Ask makes scrapes ask sources, too. It may be called once, when they exist.
func (m *Metrics) Ask(sources Sources) {
	if sources.Now == nil {
		sources.Now = time.Now
	}
	m.registry.MustRegister(&asker{sources: sources, deliveries: &m.deliveries, settings: m.config.Settings, logger: m.config.Logger})
}

const (
	scrapesAtOnce = 4
	scrapeTimeout = 10 * time.Second
)

// Handler answers scrapes: as text or, to those who accept it, as protobuf,
// which alone carries native histograms. A source that fails is left out, and logged.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		ErrorLog:            scrapeLog{m.config.Logger},
		ErrorHandling:       promhttp.ContinueOnError,
		MaxRequestsInFlight: scrapesAtOnce,
		Timeout:             scrapeTimeout,
	})
}

// scrapeLog is promhttp's logger.
type scrapeLog struct{ *slog.Logger }

func (l scrapeLog) Println(v ...any) { l.Warn("scrape metrics", "error", sentence(v)) }
