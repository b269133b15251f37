package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/foliot/foliot/bench/measure"
	"github.com/foliot/foliot/bench/peer"
	"github.com/foliot/foliot/bench/record"
	"github.com/foliot/foliot/bench/report"
)

// TestMain lets the test binary run as the child process of the harness.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "-child" {
		if err := child(os.Args[2]); err != nil {
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func TestAFailedChildIsReportedAndTheOthersContinue(t *testing.T) {
	job := func(implementation string) record.Job {
		return record.Job{Workload: measure.AddRemove, Peer: implementation, N: 10, Goroutines: 1, Window: time.Millisecond}
	}
	crash := job(peer.Time)
	crash.N = -1 // a slice of this length causes a panic
	p := plan{groups: []group{{job("unknown")}, {crash}, {job(peer.Time), job(peer.Foliot)}}}
	var out bytes.Buffer
	results := measureAll(t.Context(), p, &out)
	if len(results) != 4 {
		t.Fatalf("%d results, want 4", len(results))
	}
	for i, wanted := range []string{"unknown", "panic", "", ""} {
		r := results[i]
		if !strings.Contains(r.Failed, wanted) || (r.Failed == "") != (wanted == "") || (r.Failed == "") != (len(r.Values) > 0) {
			t.Errorf("result %d: failed %q, values %v; want a failure with %q", i, r.Failed, r.Values, wanted)
		}
	}
	if n := len((&report.Run{Results: results}).Failures()); n != 2 {
		t.Errorf("%d failures, want 2", n)
	}
	if n := strings.Count(out.String(), "FAILED"); n != 2 || !strings.Contains(out.String(), "[  4/4]") {
		t.Errorf("progress: %s", out.String())
	}
}

func TestAnInterruptEndsTheRun(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p := newPlan(options{trials: 1})
	if results := measureAll(ctx, p, new(bytes.Buffer)); len(results) != 0 {
		t.Errorf("%d results after the interrupt", len(results))
	}
}

func TestTrialsAreInterleaved(t *testing.T) {
	p := newPlan(options{trials: 2, workloads: []string{measure.Replace}, peers: []string{peer.Time, peer.Foliot}, ns: []int{1_000}})
	got := ""
	for _, g := range p.groups {
		for _, j := range g {
			got += j.Peer + " "
		}
	}
	if want := "time foliot time foliot "; got != want {
		t.Errorf("order %q, want %q", got, want)
	}
}

func TestTheWholeSetHasEveryWorkload(t *testing.T) {
	p := newPlan(options{trials: 3})
	jobs := map[string]int{}
	for _, g := range p.groups {
		for _, j := range g {
			jobs[j.Workload]++
			if _, ok := peer.Find(j.Peer); !ok {
				t.Errorf("%q is not listed", j.Peer)
			}
		}
	}
	for _, w := range []string{
		measure.Floors, measure.Accuracy, measure.AddRemove, measure.Heartbeat, measure.Hot, measure.Replace, measure.Standing,
		measure.Million, measure.Idle,
	} {
		if jobs[w] == 0 {
			t.Errorf("%s is missing", w)
		}
	}
	if len(p.skipped) == 0 {
		t.Error("no measurement is listed as skipped")
	}
	if minutes := p.expected().Minutes(); minutes > 30 {
		t.Errorf("it takes %.0f minutes", minutes)
	}
	quick := newPlan(options{trials: 1, quick: true})
	if expected := quick.expected(); expected > 2*time.Minute {
		t.Errorf("the quick one takes %v", expected)
	}
}

func TestAPartNeverOverwritesPublishedResults(t *testing.T) {
	for args, want := range map[string]string{
		"":                       "docs",
		"-report":                "docs",
		"-quick":                 "bin/bench",
		"-impl time":             "bin/bench",
		"-n 1e6":                 "bin/bench",
		"-workload idle":         "bin/bench",
		"-trials 1":              "bin/bench",
		"-trials 5":              "docs",
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
		"-workload x": `there is no workload "x"`,
		"-impl x":     `there is no implementation "x"`,
		"-n 12":       "n is 12, must be one of",
		"-n x":        `"x" is not a number`,
		"-trials -1":  "trials is -1",
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
	if err := run([]string{"-report"}); err == nil || !strings.Contains(err.Error(), "make bench") {
		t.Errorf("got %v, want an error that says how to call it", err)
	}
}
