package server

import (
	"fmt"
	"log/slog"
	"os"

	"github.com/foliot/foliot/internal/buildinfo"
	"github.com/foliot/foliot/internal/server/config"
	"github.com/foliot/foliot/internal/telemetry/tracing"
)

// otlpHeaders is OpenTelemetry's own variable for the headers that a collector
// requires, such as a key. It is not a flag, so that no list of processes and
// no printed configuration contains it.
const otlpHeaders = "OTEL_EXPORTER_OTLP_HEADERS"

// newTracer returns the tracer of the configuration, or nil if it names no
// collector.
func newTracer(cfg config.Config, log *slog.Logger) (*tracing.Tracer, error) {
	if cfg.OTLP == "" {
		return nil, nil
	}
	headers, err := tracing.ParseHeaders(os.Getenv(otlpHeaders))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", otlpHeaders, err)
	}
	return tracing.New(tracing.Config{
		Endpoint: cfg.OTLP, Headers: headers, Ratio: cfg.Sample, Version: buildinfo.Version(), Logger: log,
	})
}
