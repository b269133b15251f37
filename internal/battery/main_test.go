package main

import (
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTheHelpNamesEveryScenario(t *testing.T) {
	var out, errs strings.Builder
	if code := run(t.Context(), []string{"--help"}, &out, &errs); code != 0 {
		t.Errorf("--help ended with %d", code)
	}
	for _, s := range scenarios {
		if !strings.Contains(errs.String(), s.name) || !strings.Contains(errs.String(), s.what) {
			t.Errorf("--help does not show %s", s.name)
		}
	}
}

func TestBadInputIsRefusedBeforeAnythingRuns(t *testing.T) {
	for _, args := range [][]string{{"steady", "steddy"}, {"-kills", "many"}, {"-frobnicate"}} {
		var out, errs strings.Builder
		if code := run(t.Context(), args, &out, &errs); code != 2 || out.Len() > 0 || errs.Len() == 0 {
			t.Errorf("battery %v ended with %d and printed %q", args, code, out.String())
		}
	}
}
