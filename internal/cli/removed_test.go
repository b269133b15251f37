package cli

import (
	"slices"
	"strings"
	"testing"
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
		"serve --lease 5s x":              {"serve x", "foliot: --lease has no effect: delete it"},
		"serve --trace-sample=1 --data d": {"serve --data d", "foliot: --trace-sample has no effect: delete it"},
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
