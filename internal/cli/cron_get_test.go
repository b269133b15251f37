package cli

import (
	"strings"
	"testing"
)

// Only what names times of the day can fall on an hour that a day has twice, or not at all.
func TestAnIntervalShowsNoRulesForHardDays(t *testing.T) {
	s := newSession(t)
	for cron, fixed := range map[string]bool{"'30 2 * * *'": true, "@daily": true, "'*/5 * * * *'": false, "'0 * * * *'": false, "--every 5s": false} {
		s.must("", "cron add n "+cron+" http://127.0.0.1:9/ --replace")
		if shown := s.must("", "cron get n"); strings.Contains(shown, "dst gap") != fixed || strings.Contains(shown, "dst overlap") != fixed {
			t.Errorf("%s is shown as\n%s", cron, shown)
		}
	}
}
