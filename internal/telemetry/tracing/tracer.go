package tracing

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/foliot/foliot/internal/sparselog"
)

// Config holds the collector and the settings of a Tracer.
type Config struct {
	// Endpoint is the URL to which the spans go, as protobuf, and required:
	// http://127.0.0.1:4318/v1/traces.
	Endpoint string

	// Headers are sent to the collector with each batch, but they may be
	// secret, so no log and no error contains them.
	Headers map[string]string

	// Ratio is the share of kept traces among those that begin here, from 0 to
	// 1. It does not apply to requests with a caller that has already decided.
	Ratio float64

	// Version of the server. Default: "dev".
	Version string

	// Logger logs that the collector does not accept spans. Default: none.
	Logger *slog.Logger
}

// Tracer makes spans of requests and attempts. A nil *Tracer makes none and
// costs nothing, and many goroutines may call its methods. New starts one
// goroutine that exports, and Close stops it and waits.
type Tracer struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
	outbox   *outbox
}

// scope is the name of the instrumentation in spans.
const scope = "github.com/foliot/foliot"

// format is the format of span contexts in HTTP headers: W3C Trace Context.
var format propagation.TraceContext

// New returns a tracer for a configuration of FromEnvironment, or nil if it names
// no collector. New does not call the collector before there are spans.
func New(config Config) (*Tracer, error) {
	if config.Endpoint == "" {
		return nil, nil
	}
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	about, err := resource.New(context.Background(),
		resource.WithAttributes(attribute.String("service.name", "foliot"), attribute.String("service.version", config.Version)),
		resource.WithHost(), resource.WithTelemetrySDK(), resource.WithFromEnv()) // OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES take precedence
	if err != nil {
		return nil, fmt.Errorf("trace: describe this server: %w", err)
	}
	t := &Tracer{}
	client := newCollector(config.Endpoint, config.Headers)
	t.outbox = newOutbox(otlptrace.NewUnstarted(client), client.close, sparselog.New(config.Logger))
	t.provider = sdk.NewTracerProvider(
		sdk.WithResource(about), sdk.WithSampler(followSampler{sdk.TraceIDRatioBased(config.Ratio)}), sdk.WithSpanProcessor(t.outbox))
	t.tracer = t.provider.Tracer(scope, trace.WithInstrumentationVersion(config.Version))
	return t, nil
}

// checkURL refuses an address of a collector that is no URL, or that holds more than
// a path.
func checkURL(endpoint string) error {
	u, err := url.Parse(endpoint)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return errors.New("the collector's address must be a URL such as http://127.0.0.1:4318")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return errors.New("the collector's URL must not have a user, query or fragment: pass credentials in headers")
	}
	return nil
}

// closeTimeout bounds the time that a stop waits for the collector.
const closeTimeout = 5 * time.Second

// Close exports the remaining spans, until ctx ends or five seconds have
// passed, and drops the rest. It may be called twice, but spans that end later
// are not exported.
func (t *Tracer) Close(ctx context.Context) error {
	if t == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, closeTimeout)
	defer cancel()
	err := t.outbox.Shutdown(ctx)
	_ = t.provider.Shutdown(ctx) // it has no other processor
	if err != nil {
		return fmt.Errorf("export the last spans: %w", err)
	}
	return nil
}

// Counts returns the numbers of sampled spans since New by result. The collector
// refused those that failed, or did not accept them in time before the end, and
// the queue was full for those that were dropped.
func (t *Tracer) Counts() (exported, failed, dropped uint64) {
	if t == nil {
		return 0, 0, 0
	}
	return t.outbox.exported.Load(), t.outbox.failed.Load(), t.outbox.dropped.Load()
}
