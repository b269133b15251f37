package tracing

import (
	"cmp"
	"os"
	"strconv"
	"strings"

	"github.com/foliot/foliot/internal/usage"
)

// FromEnvironment returns the collector and the share of traces that
// OpenTelemetry's own variables name. Endpoint is "" if they name no collector.
// No flag sets these values: operators set the variables for all their programs,
// and a list of processes would show the keys in the headers. Errors contain no
// value, because a value may hold a password.
func FromEnvironment() (c Config, err error) {
	const protocol, ratio, headers = "OTEL_EXPORTER_OTLP_PROTOCOL", "OTEL_TRACES_SAMPLER_ARG", "OTEL_EXPORTER_OTLP_HEADERS"
	name := "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT" // used as it is
	c = Config{Endpoint: os.Getenv(name), Ratio: 1}
	if c.Endpoint == "" {
		name = "OTEL_EXPORTER_OTLP_ENDPOINT" // for all signals, each below a path of its own
		if base := os.Getenv(name); base != "" {
			c.Endpoint = strings.TrimSuffix(base, "/") + "/v1/traces"
		}
	}
	if c.Endpoint == "" || os.Getenv("OTEL_SDK_DISABLED") == "true" || os.Getenv("OTEL_TRACES_EXPORTER") == "none" {
		return Config{}, nil
	}
	if err := checkURL(c.Endpoint); err != nil {
		return c, usage.Errorf(name, "%v", err)
	}
	if p := cmp.Or(os.Getenv("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"), os.Getenv(protocol), "http/protobuf"); p != "http/protobuf" {
		return c, usage.Errorf(protocol, "%q is not supported: set http/protobuf, and the collector's port for it, usually 4318", p)
	}
	switch sampler := strings.TrimPrefix(os.Getenv("OTEL_TRACES_SAMPLER"), "parentbased_"); sampler {
	case "always_on":
	case "always_off":
		c.Ratio = 0
	case "", "traceidratio":
		text := cmp.Or(os.Getenv(ratio), "1")
		if c.Ratio, err = strconv.ParseFloat(text, 64); err != nil || !(c.Ratio >= 0 && c.Ratio <= 1) { // NaN is neither
			return c, usage.Errorf(ratio, "%q is not a number between 0 and 1", text)
		}
	default:
		return c, usage.Errorf("OTEL_TRACES_SAMPLER", "%q is not supported: set parentbased_traceidratio, always_on or always_off", sampler)
	}
	if c.Headers, err = parseHeaders(cmp.Or(os.Getenv("OTEL_EXPORTER_OTLP_TRACES_HEADERS"), os.Getenv(headers))); err != nil {
		return c, usage.Errorf(headers, "%v", err)
	}
	return c, nil
}
