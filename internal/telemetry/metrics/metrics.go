package metrics

import (
	"cmp"
	"fmt"
	"log/slog"
	"net/http"
	"runtime"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/foliot/foliot/internal/settings"
)

// Config holds the settings of Metrics, and the zero Config works.
type Config struct {
	// Version is the version in foliot_build_info. Default: "dev".
	Version string

	// Settings decides which queues have their own series. Many goroutines call
	// it, so it must not block. Default: no settings, so only the default queue
	// of the default namespace has its own series.
	Settings func() *settings.Settings

	// Unsynced is true if the store syncs no log of its own, so that there are
	// no metrics about syncs.
	Unsynced bool

	// MaxQueues bounds the queues with their own series. Each costs about 60
	// series, or 40 with native histograms, and keeps them until the process
	// ends. Default: 100.
	MaxQueues int

	// Embedded is true in a program that embeds a node. It leaves out the metrics
	// of the API, the store and the Go runtime, which the program has or needs not.
	Embedded bool

	// Logger logs the failures during scrapes. Default: none.
	Logger *slog.Logger
}

func (c Config) withDefaults() Config {
	c.Version = cmp.Or(c.Version, "dev")
	if c.Settings == nil {
		none := settings.NewSettings()
		c.Settings = func() *settings.Settings { return none }
	}
	if c.MaxQueues <= 0 {
		c.MaxQueues = 100
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// Metrics are the counts of one process. It starts no goroutine, and many
// goroutines may call all methods.
type Metrics struct {
	config   Config
	registry *prometheus.Registry

	deliveries *deliveries
	requests   requests
	store      storeMetrics
}

// New returns metrics at zero.
func New(config Config) *Metrics {
	m := &Metrics{config: config.withDefaults(), registry: prometheus.NewRegistry()}
	m.deliveries = newDeliveries(m.registry, m.config)
	shown := m.registry
	if m.config.Embedded {
		shown = prometheus.NewRegistry() // nothing reads it
	}
	m.requests = newRequests(shown)
	m.store = newStore(shown, m.config.Unsynced)
	build := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "foliot_build_info", Help: "Always 1. The labels name the build.",
	}, []string{"version", "go_version"})
	build.WithLabelValues(m.config.Version, runtime.Version()).Set(1)
	m.registry.MustRegister(build)
	shown.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Registry returns the registry of all metrics.
func (m *Metrics) Registry() *prometheus.Registry { return m.registry }

// Ask adds sources for the values that each scrape reads, and may be called
// once.
func (m *Metrics) Ask(sources Sources) {
	if sources.Now == nil {
		sources.Now = time.Now
	}
	m.registry.MustRegister(&sourceCollector{sources: sources, deliveries: m.deliveries, settings: m.config.Settings, logger: m.config.Logger})
}

const (
	scrapesAtOnce = 4
	scrapeTimeout = 10 * time.Second
)

// Handler answers scrapes: as text or, if the client accepts it, as protobuf,
// which is the only format with native histograms. A source that fails is left
// out and logged.
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

func (l scrapeLog) Println(v ...any) {
	l.Warn("a scrape of the metrics failed", "error", strings.TrimSpace(fmt.Sprintln(v...)))
}
