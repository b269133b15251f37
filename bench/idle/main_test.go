package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/foliot/foliot/bench/child"
	"github.com/foliot/foliot/bench/idle/client"
	"github.com/foliot/foliot/bench/idle/guard"
	"github.com/foliot/foliot/bench/idle/load"
	"github.com/foliot/foliot/bench/idle/report"
	"github.com/foliot/foliot/bench/idle/verdict"
	"github.com/foliot/foliot/bench/program"
)

// TestMain lets the test binary run as a child process of the program.
func TestMain(m *testing.M) {
	if role := child.Role(); role != "" {
		_ = serve(role)
		return
	}
	os.Exit(m.Run())
}

// All guards, with processes, sockets and a frozen client.
func TestAllGuardsUnderLoadEndToEnd(t *testing.T) {
	shape := load.Quick(60)
	var wg sync.WaitGroup
	results := make([]load.Result, len(guard.All))
	for i := range guard.All {
		wg.Go(func() { results[i] = load.Run(t.Context(), guard.All[i].Name, &shape, func(string) {}) })
	}
	wg.Wait()
	r := &report.Run{Shape: shape, Loads: results}
	for i := range results {
		check(t, &guard.All[i], &results[i])
	}
	if t.Failed() {
		t.Log(r.Summary())
	}
}

func check(t *testing.T, info *guard.Info, r *load.Result) {
	t.Helper()
	if r.Failed != "" {
		t.Errorf("%s failed: %s", r.Guard, r.Failed)
		return
	}
	judged := 0
	for k := range client.Kind(client.Kinds) {
		judged += r.Counters.Total(k)
	}
	if judged != r.Connections {
		t.Errorf("%s: %d of %d connections were judged", r.Guard, judged, r.Connections)
	}
	if r.After != r.Before || r.Peak != r.Before+r.Connections {
		t.Errorf("%s: %d descriptors, %d with all open, %d afterwards", r.Guard, r.Before, r.Peak, r.After)
	}
	closed := r.Counters.Of(verdict.OnTime) + r.Counters.Of(verdict.Late)
	if info.Name == guard.None {
		if closed > 0 {
			t.Errorf("%d were closed without timeouts", closed)
		}
		return
	}
	if closed == 0 && r.Stalls == 0 {
		t.Errorf("%s closed nothing", r.Guard)
	}
	// On a busy machine, a deadline of other guards may pass before the data
	// that came is read.
	if n := r.Counters.Of(verdict.Wrong); info.Ours && n > 0 {
		t.Errorf("%s closed %d wrongly", r.Guard, n)
	}
	if n := r.Counters.Of(verdict.Never); info.Ours && n > 0 && r.Stalls == 0 {
		t.Errorf("%s never closed %d", r.Guard, n)
	}
}

func TestAGuardThatFailsIsReportedAndTheRestGoesOn(t *testing.T) {
	p := plan{shape: load.Quick(50), guards: []string{"unknown", "unknown too"}}
	r := new(report.Run)
	var out bytes.Buffer
	p.load(t.Context(), r, program.NewProgress(&out, 0))
	if len(r.Loads) != 2 || !strings.Contains(r.Loads[0].Failed, `there is no guard "unknown"`) {
		t.Errorf("got %+v", r.Loads)
	}
	if list := r.Failures(); len(list) != 2 {
		t.Errorf("failures: %q", list)
	}
	if n := strings.Count(out.String(), "FAILED"); n != 2 {
		t.Errorf("progress: %s", out.String())
	}
}

func TestAnInterruptEndsTheRun(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s, err := parse([]string{"-quick"})
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(300*time.Millisecond, cancel)
	start := time.Now()
	if err := measureAll(ctx, &s, new(report.Run), new(bytes.Buffer)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("it went on for %v", took)
	}
}

func TestTheWholeSetTakesTenMinutesAndTheQuickOneOne(t *testing.T) {
	for args, most := range map[string]time.Duration{"": 10 * time.Minute, "-quick": time.Minute} {
		s, err := parse(strings.Fields(args))
		if err != nil {
			t.Fatal(err)
		}
		p, err := newPlan(&s)
		if err != nil {
			t.Skip(err)
		}
		if len(p.guards) != len(guard.All)+1 || len(p.crowds) != 3 || len(p.herds) == 0 || len(p.uses.Guards) == 0 {
			t.Errorf("%q: something is missing in %+v", args, p)
		}
		if e := p.expected(); e > most {
			t.Errorf("%q takes %v", args, e)
		}
	}
}

func TestAPartNeverOverwritesWhatIsPublished(t *testing.T) {
	for args, want := range map[string]string{
		"":                       "docs",
		"-report":                "docs",
		"-quick":                 "bin/bench-idle",
		"-n 100":                 "bin/bench-idle",
		"-guard scan":            "bin/bench-idle",
		"-part herd":             "bin/bench-idle",
		"-quick -docs elsewhere": "elsewhere",
	} {
		s, err := parse(strings.Fields(args))
		if err != nil {
			t.Fatal(err)
		}
		if s.Docs != want {
			t.Errorf("%q writes to %s, want %s", args, s.Docs, want)
		}
	}
}

func TestWrongFlagsAreNamed(t *testing.T) {
	for args, want := range map[string]string{
		"-guard x":    `-guard: there is no "x": use none, `,
		"-part use,x": `-part: there is no "x"`,
		"-n 3":        "-n: 3 connections are too few",
		"more":        `"more" is not a flag`,
	} {
		if _, err := parse(strings.Fields(args)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", args, err, want)
		}
	}
	if _, err := parse([]string{"-h"}); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("-h: got %v", err)
	}
}

func TestItIsRunFromTheRoot(t *testing.T) {
	if err := run([]string{"-report"}); err == nil || !strings.Contains(err.Error(), "make bench-idle") {
		t.Errorf("got %v, want an error that says how to call it", err)
	}
}
