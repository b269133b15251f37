package main

import (
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/foliot/foliot/test/battery/harness"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

func TestTheHelpNamesEveryScenario(t *testing.T) {
	var out, errs strings.Builder
	if code := run(t.Context(), []string{"--help"}, &out, &errs); code != 0 {
		t.Errorf("--help ended with %d", code)
	}
	for _, s := range slices.Concat(scenarios, redisScenarios, postgresScenarios, measurements) {
		if !strings.Contains(errs.String(), s.name) || !strings.Contains(errs.String(), s.what) {
			t.Errorf("--help does not show %s", s.name)
		}
	}
}

func TestBadInputIsRefusedBeforeAnythingRuns(t *testing.T) {
	for _, args := range [][]string{{"steady", "steddy"}, {"-kills", "many"}, {"-frobnicate"}, {"-herd", "4"}, {"-phase", "1ms"}, {"-profile", "-foliot", "x"}} {
		var out, errs strings.Builder
		if code := run(t.Context(), args, &out, &errs); code != 2 || out.Len() > 0 || errs.Len() == 0 {
			t.Errorf("battery %v ended with %d and printed %q", args, code, out.String())
		}
	}
}

func TestFullSizesDoNotOverruleWhatIsGiven(t *testing.T) {
	var opts harness.Options
	if _, err := parse([]string{"-full", "-kills", "7"}, &opts, io.Discard); err != nil {
		t.Fatal(err)
	}
	if opts.Kills != 7 || opts.Herd != 1_000_000 || opts.Phase != 30*time.Second || opts.Overdue != 5_000_000 {
		t.Errorf("the options are %+v", opts)
	}
}
