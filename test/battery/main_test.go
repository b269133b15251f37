package main

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if helperCommand(os.Args[1:]) != nil { // startSink and startAttack run their own program
		os.Exit(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
	}
	goleak.VerifyTestMain(m)
}

func TestTheHelpNamesEveryScenario(t *testing.T) {
	var out, errs strings.Builder
	if code := run(t.Context(), []string{"--help"}, &out, &errs); code != 0 {
		t.Errorf("--help ended with %d", code)
	}
	for _, s := range slices.Concat(scenarios, redisScenarios) {
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
	var opts options
	if _, err := parse([]string{"-full", "-kills", "7"}, &opts, io.Discard); err != nil {
		t.Fatal(err)
	}
	if opts.kills != 7 || opts.herd != 1_000_000 || opts.phase != 30*time.Second || opts.overdue != 5_000_000 {
		t.Errorf("the options are %+v", opts)
	}
}

func TestTheProfilerFitsIntoTheServer(t *testing.T) {
	if testing.Short() {
		t.Skip("it compiles the server")
	}
	dir := t.TempDir()
	list, err := overlay(dir)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-overlay", list, "-o", filepath.Join(dir, "foliot"), serverPackage)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
