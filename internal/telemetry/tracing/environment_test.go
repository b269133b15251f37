package tracing

import (
	"strings"
	"testing"
)

func TestTheVariablesOfOpenTelemetryConfigureTraces(t *testing.T) {
	const general, traces = "OTEL_EXPORTER_OTLP_ENDPOINT=http://a:4318", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://b:4318/own/path"
	for _, c := range []struct {
		set      string // variables, separated by spaces
		endpoint string
		ratio    float64
		err      string
	}{
		{"", "", 0, ""},
		{"OTEL_TRACES_SAMPLER_ARG=x", "", 0, ""}, // without a collector nothing else counts
		{general, "http://a:4318/v1/traces", 1, ""},
		{general + " " + traces, "http://b:4318/own/path", 1, ""},
		{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://b:4318", "http://b:4318", 1, ""},
		{"OTEL_EXPORTER_OTLP_ENDPOINT=http://a:4318/below/", "http://a:4318/below/v1/traces", 1, ""},
		{general + " OTEL_TRACES_SAMPLER_ARG=0.25", "http://a:4318/v1/traces", 0.25, ""},
		{general + " OTEL_TRACES_SAMPLER=parentbased_traceidratio OTEL_TRACES_SAMPLER_ARG=0.5", "http://a:4318/v1/traces", 0.5, ""},
		{general + " OTEL_TRACES_SAMPLER=always_on OTEL_TRACES_SAMPLER_ARG=0.5", "http://a:4318/v1/traces", 1, ""},
		{general + " OTEL_TRACES_SAMPLER=parentbased_always_off", "http://a:4318/v1/traces", 0, ""},
		{general + " OTEL_SDK_DISABLED=true", "", 0, ""},
		{general + " OTEL_TRACES_EXPORTER=none", "", 0, ""},
		{general + " OTEL_EXPORTER_OTLP_PROTOCOL=grpc", "", 0, "OTEL_EXPORTER_OTLP_PROTOCOL"},
		{general + " OTEL_EXPORTER_OTLP_PROTOCOL=grpc OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http/protobuf", "http://a:4318/v1/traces", 1, ""},
		{general + " OTEL_TRACES_SAMPLER_ARG=NaN", "", 0, "OTEL_TRACES_SAMPLER_ARG"},
		{general + " OTEL_TRACES_SAMPLER_ARG=-0.1", "", 0, "OTEL_TRACES_SAMPLER_ARG"},
		{general + " OTEL_TRACES_SAMPLER_ARG=2", "", 0, "OTEL_TRACES_SAMPLER_ARG"},
		{general + " OTEL_TRACES_SAMPLER=jaeger_remote", "", 0, "OTEL_TRACES_SAMPLER"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT=collector:4318", "", 0, "OTEL_EXPORTER_OTLP_ENDPOINT"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT=http://u:secret@a:4318", "", 0, "OTEL_EXPORTER_OTLP_ENDPOINT"},
		{general + " OTEL_EXPORTER_OTLP_HEADERS=secret", "", 0, "OTEL_EXPORTER_OTLP_HEADERS"},
	} {
		t.Run(c.set, func(t *testing.T) {
			for setting := range strings.FieldsSeq(c.set) {
				name, value, _ := strings.Cut(setting, "=")
				t.Setenv(name, value)
			}
			got, err := FromEnvironment()
			switch {
			case err == nil && (c.err != "" || got.Endpoint != c.endpoint || got.Ratio != c.ratio):
				t.Errorf("%+v, want an error about %q", got, c.err)
			case err != nil && (c.err == "" || !strings.HasPrefix(err.Error(), c.err+": ") || strings.Contains(err.Error(), "secret")):
				t.Error(err)
			}
		})
	}
}
