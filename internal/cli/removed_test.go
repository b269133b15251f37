package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/foliot/foliot/internal/cli/exit"
)

// A script of an earlier build goes on, and learns what has no effect any more.
func TestALineOfAnEarlierBuildIsReadInTheWordsOfToday(t *testing.T) {
	for line, want := range map[string][2]string{
		"run a b":                         {"move a b --now", ""},
		"cron pause a b":                  {"cron set a b --paused", ""},
		"cron resume a":                   {"cron set a --no-paused", ""},
		"version":                         {"--version", ""},
		"get run":                         {"get run", ""},
		"cron set a":                      {"cron set a", ""},
		"serve --data d":                  {"serve --data d", ""},
		"queue set a --ui":                {"queue set a --ui", ""},
		"serve --lease 5s x":              {"serve x", "foliot: --lease has no effect: this setting was removed: it is 15s"},
		"serve --trace-sample=1 --data d": {"serve --data d", "foliot: --trace-sample has no effect: this setting was removed: set the variable OTEL"},
		"serve --no-ui --data d":          {"serve --no-ui --data d", ""},
	} {
		var notes strings.Builder
		args := strings.Fields(line)
		got := strings.Join(modern(slices.Clone(args), &notes), " ")
		if got != want[0] || !strings.HasPrefix(notes.String(), want[1]) || want[1] == "" && notes.Len() > 0 {
			t.Errorf("%s: %q, %q", line, got, notes.String())
		}
	}
}

func TestARemovedSettingIsRefusedWithItsRemedy(t *testing.T) {
	for line, says := range map[string]string{
		"serve --otlp-endpoint http://127.0.0.1:4318": "foliot: --otlp-endpoint: this setting was removed: set the variable OTEL_EXPORTER_OTLP_ENDPOINT; see `foliot serve --help`\n",
		"serve --no-ui": "foliot: --no-ui: this setting was removed: the web page is always served",
	} {
		if _, errs, code := newSession(t).runBare(strings.Fields(line)...); code != exit.Usage || !strings.HasPrefix(errs, says) {
			t.Errorf("%s: exit code %d, %q", line, code, errs)
		}
	}
	if _, errs, code := configure(t, "trace-sample: 0.5\n"); code != exit.Usage || !strings.HasPrefix(errs, "foliot: foliot.yaml:1: trace-sample: this setting was removed: set the variable OTEL_TRACES_SAMPLER_ARG") {
		t.Errorf("exit code %d, %q", code, errs)
	}
	t.Setenv("FOLIOT_LEASE", "")
	if _, errs, code := newSession(t).runBare("config"); code != exit.Usage || !strings.HasPrefix(errs, "foliot: FOLIOT_LEASE: this setting was removed: it is 15s") {
		t.Errorf("exit code %d, %q", code, errs)
	}
}
