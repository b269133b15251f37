package cli

import (
	"strings"
	"testing"
)

// Only fixed times of the day can fall into an hour that is repeated or
// skipped.
func TestAnIntervalShowsNoRulesForClockChanges(t *testing.T) {
	s := newSession(t)
	for cron, fixed := range map[string]bool{"'30 2 * * *'": true, "@daily": true, "'*/5 * * * *'": false, "'0 * * * *'": false, "--every 5s": false} {
		s.must("", "cron add n "+cron+" http://127.0.0.1:9/ --replace")
		if shown := s.must("", "cron get n"); strings.Contains(shown, "dst gap") != fixed || strings.Contains(shown, "dst overlap") != fixed {
			t.Errorf("%s is shown as\n%s", cron, shown)
		}
	}
}
