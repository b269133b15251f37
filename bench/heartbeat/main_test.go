package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/foliot/foliot/bench/child"
	"github.com/foliot/foliot/bench/heartbeat/contender"
	"github.com/foliot/foliot/bench/heartbeat/report"
)

// TestMain lets the test binary run as a child process of the program.
func TestMain(m *testing.M) {
	if child.Role() != "" {
		_ = serve()
		return
	}
	os.Exit(m.Run())
}

func TestAContenderIsMeasuredInItsOwnProcess(t *testing.T) {
	t.Parallel()
	s, err := parse([]string{"-quick", "-contender", "extend"})
	if err != nil {
		t.Fatal(err)
	}
	r := new(report.Run)
	if err := measureAll(t.Context(), &s, r, new(bytes.Buffer)); err != nil || len(r.Results) != 1 {
		t.Fatalf("%+v, %v", r.Results, err)
	}
	if x := r.Results[0]; x.Failed != "" || x.Heartbeats != 1000 || x.CPU <= 0 || x.CallsCPU <= 0 || x.Bytes <= 0 {
		t.Errorf("%+v", x)
	}
}

func TestAFailureIsReportedAndTheRestGoesOn(t *testing.T) {
	r := new(report.Run)
	s := &settings{contenders: []string{"x", "y"}}
	if err := measureAll(t.Context(), s, r, new(bytes.Buffer)); err != nil || len(r.Failures()) != 6 {
		t.Errorf("%v, %q", err, r.Failures())
	}
}

func TestOnlyTheWholeSetIsPublishedAndTakesFiveMinutes(t *testing.T) {
	for args, docs := range map[string]string{"": "docs", "-quick": "bin/bench-heartbeat", "-contender heap": "bin/bench-heartbeat"} {
		s, err := parse(strings.Fields(args))
		if err != nil || s.Docs != docs {
			t.Errorf("%q: %+v, %v", args, s, err)
		}
		if all := expected(plan(&s)); all > 5*time.Minute {
			t.Errorf("%q takes %v", args, all)
		}
	}
	if s, err := parse([]string{"-contender", "unknown"}); err == nil {
		t.Errorf("%+v", s)
	}
	if n := len(plan(&settings{contenders: names()})); n != 3*len(contender.All) {
		t.Errorf("%d measurements", n)
	}
}
