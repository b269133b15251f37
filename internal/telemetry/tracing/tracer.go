package tracing

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Config says where spans go, and how many.
type Config struct {
	// Endpoint is the collector's base URL, such as http://127.0.0.1:4318; the
	// spans go to /v1/traces below it, as protobuf. Required.
	Endpoint string

	// Headers are sent to the collector with each batch. They may be secret:
	// they are in no log and no error.
	Headers map[string]string

	// Ratio is the part of the traces that begin here which is kept, from 0 to
	// 1. It does not concern requests whose caller has decided already.
	Ratio float64

	// Version of the server. Default: "dev".
	Version string

	// Logger is told that the collector does not take what it is sent, at most
	// once a minute. Default: none.
	Logger *slog.Logger
}

// Tracer makes spans of requests and attempts. A nil *Tracer traces
// nothing, and costs nothing. Methods may be called by many goroutines. New
// starts one that exports; Close stops it and waits.
type Tracer struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
	outbox   *outbox
}

// scope is the instrumentation that spans say they come from.
const scope = "github.com/foliot/foliot"

// format is how span contexts travel in HTTP headers: W3C Trace Context.
var format propagation.TraceContext

// New returns a tracer. The collector is not called before there is something
// to tell it. Errors concern the configuration.
func New(config Config) (*Tracer, error) {
	target, err := tracesURL(config.Endpoint)
	if err != nil {
		return nil, err
	}
	if !(config.Ratio >= 0 && config.Ratio <= 1) { // NaN, too
		return nil, fmt.Errorf("trace: the ratio %v does not lie between 0 and 1", config.Ratio)
	}
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	about, err := resource.New(context.Background(),
		resource.WithAttributes(attribute.String("service.name", "foliot"), attribute.String("service.version", config.Version)),
		resource.WithHost(), resource.WithTelemetrySDK(), resource.WithFromEnv()) // OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES have the last word
	if err != nil {
		return nil, fmt.Errorf("trace: describe this server: %w", err)
	}
	t := &Tracer{}
	client := newCollector(target, config.Headers)
	t.outbox = newOutbox(otlptrace.NewUnstarted(client), client.close, config.Logger)
	t.provider = sdk.NewTracerProvider(
		sdk.WithResource(about), sdk.WithSampler(follow{sdk.TraceIDRatioBased(config.Ratio)}), sdk.WithSpanProcessor(t.outbox))
	t.tracer = t.provider.Tracer(scope, trace.WithInstrumentationVersion(config.Version))
	return t, nil
}

// tracesURL returns where the spans go below the collector's base URL.
func tracesURL(endpoint string) (string, error) {
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", fmt.Errorf("trace: the collector's address is no URL such as http://127.0.0.1:4318")
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", fmt.Errorf("trace: the collector's URL has a user, query or fragment: credentials go into its headers")
	}
	if !strings.HasSuffix(u.Path, tracesPath) {
		u = u.JoinPath(tracesPath)
	}
	return u.String(), nil
}

const (
	tracesPath = "/v1/traces"

	// closeTimeout bounds how long a stop waits for the collector.
	closeTimeout = 5 * time.Second
)

// Close exports what is left, until ctx ends or five seconds have passed,
// and gives the rest up. What ends afterwards is not exported. Twice is fine.
func (t *Tracer) Close(ctx context.Context) error {
	if t == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, closeTimeout)
	defer cancel()
	_ = t.provider.Shutdown(ctx) // says what the outbox says, which it does not ask where ctx has ended already
	if err := t.outbox.Shutdown(ctx); err != nil {
		return fmt.Errorf("export the last spans: %w", err)
	}
	return nil
}

// Counts is what became of the spans that were kept.
type Counts struct {
	Exported uint64
	Failed   uint64 // the collector did not take them, or not in time before the end
	Dropped  uint64 // there was no room for them
}

// Counts returns what became of spans since New.
func (t *Tracer) Counts() Counts {
	if t == nil {
		return Counts{}
	}
	return t.outbox.counts()
}
