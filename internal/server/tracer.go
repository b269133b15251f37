package server

import (
	"fmt"
	"log/slog"
	"os"

	"github.com/foliot/foliot/internal/buildinfo"
	"github.com/foliot/foliot/internal/server/config"
	"github.com/foliot/foliot/internal/telemetry/tracing"
)

// otlpHeaders is OpenTelemetry's own variable for what a collector wants to
// see, such as a key: it is no flag, so that it is in no list of processes and in
// no printed configuration.
const otlpHeaders = "OTEL_EXPORTER_OTLP_HEADERS"

// newTracer returns what the configuration asks for, nil for none.
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
