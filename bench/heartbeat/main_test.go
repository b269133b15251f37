package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/foliot/foliot/bench/child"
	"github.com/foliot/foliot/bench/heartbeat/report"
	"github.com/foliot/foliot/bench/program"
)

// TestMain lets the test binary run as a child process of the program.
func TestMain(m *testing.M) {
	if child.Role() != "" {
		_ = serve()
		return
	}
	os.Exit(m.Run())
}

func TestEachContenderIsMeasuredInItsOwnProcess(t *testing.T) {
	t.Parallel()
	s, err := parse([]string{"-quick", "-contender", "extend,heap"})
	if err != nil {
		t.Fatal(err)
	}
	r := new(report.Run)
	if err := measureAll(t.Context(), &s, r, new(bytes.Buffer)); err != nil || len(r.Results) != 2 {
		t.Fatalf("%+v, %v", r.Results, err)
	}
	for _, x := range r.Results {
		if x.Failed != "" || x.Heartbeats != 2000 || x.CPU <= 0 || x.CallsCPU <= 0 || x.Bytes <= 0 {
			t.Errorf("%+v", x)
		}
	}
}

func TestAFailureIsReportedAndTheRestGoesOn(t *testing.T) {
	t.Parallel()
	r := new(report.Run)
	s := &settings{Settings: program.Settings{Quick: true}, contenders: []string{"x", "heap"}}
	if err := measureAll(t.Context(), s, r, new(bytes.Buffer)); err != nil || len(r.Failures()) != 1 || len(r.Results) != 2 {
		t.Errorf("%v, %+v", err, r.Results)
	}
}

func TestOnlyTheWholeSetIsPublished(t *testing.T) {
	for args, docs := range map[string]string{"": "docs", "-quick": "bin/bench-heartbeat", "-contender heap": "bin/bench-heartbeat"} {
		if s, err := parse(strings.Fields(args)); err != nil || s.Docs != docs {
			t.Errorf("%q: %+v, %v", args, s, err)
		}
	}
	if s, err := parse([]string{"-contender", "unknown"}); err == nil {
		t.Errorf("%+v", s)
	}
}
