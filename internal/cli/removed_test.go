package cli

import (
	"strings"
	"testing"

	"github.com/foliot/foliot/internal/cli/exit"
)

// A script of an earlier build must learn what to write instead.
func TestARemovedNameIsRefusedWithItsRemedy(t *testing.T) {
	t.Setenv("FOLIOT_LEASE", "")
	for line, says := range map[string]string{
		"serve --otlp-endpoint http://127.0.0.1:4318": "foliot: --otlp-endpoint: this setting was removed: set the variable OTEL_EXPORTER_OTLP_ENDPOINT; see `foliot serve --help`\n",
		"config --no-ui":     "foliot: --no-ui: this setting was removed: the web page is always served",
		"config":             "foliot: FOLIOT_LEASE: this setting was removed: it is 15s",
		"run a":              "foliot: run: this command was removed: use foliot move NAME --now",
		"version":            "foliot: version: this command was removed: use foliot --version",
		"cron pause a b":     "foliot: pause: this command was removed: use foliot cron set NAME --paused",
		"context rm a":       "foliot: rm: this command was removed: delete its lines",
		"queue set a --ui=x": "foliot: --ui: this setting was removed",
	} {
		if _, errs, code := newSession(t).runBare(strings.Fields(line)...); code != exit.Usage || !strings.HasPrefix(errs, says) {
			t.Errorf("%s: exit code %d, %q", line, code, errs)
		}
	}
}

func TestARemovedKeyIsRefusedWithItsRemedy(t *testing.T) {
	if _, errs, code := configure(t, "trace-sample: 0.5\n"); code != exit.Usage || !strings.HasPrefix(errs, "foliot: foliot.yaml:1: trace-sample: this setting was removed: set the variable OTEL_TRACES_SAMPLER_ARG") {
		t.Errorf("exit code %d, %q", code, errs)
	}
}
