package main

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"

	"github.com/foliot/foliot/bench/measure"
	"github.com/foliot/foliot/bench/peer"
	"github.com/foliot/foliot/bench/program"
	"github.com/foliot/foliot/bench/record"
)

// TestMain lets the test binary run as the child process of the harness.
func TestMain(m *testing.M) {
	serve()
	os.Exit(m.Run())
}

// A page that was edited by hand, or not written again after a change of its
// template, fails.
func TestTheCommittedPageIsThatOfTheCommittedResults(t *testing.T) {
	if err := self.Stale(".."); err != nil {
		t.Error(err)
	}
}

func TestAFailedChildIsReportedAndTheOthersContinue(t *testing.T) {
	var out bytes.Buffer
	r, s := new(record.Run), &program.Settings{Quick: true, Contenders: []string{"unknown", peer.Time, peer.Foliot}, Parts: []string{measure.AddRemove}}
	if err := measureAll(t.Context(), s, r, &out); err != nil || len(r.Results) != 6 {
		t.Fatalf("%v, %d results: %s", err, len(r.Results), out.String())
	}
	for _, x := range r.Results {
		if (x.Failed == "") != (len(x.Values) > 0) || (x.Failed == "") != (x.Contender != "unknown") {
			t.Errorf("%+v", x)
		}
	}
	if n := strings.Count(out.String(), "FAILED"); n != len(r.Failures()) || n != 2 || !strings.Contains(out.String(), "[6/6]") {
		t.Errorf("progress: %s", out.String())
	}
}

func TestAnInterruptEndsTheRun(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r, s := new(record.Run), &program.Settings{Contenders: []string{peer.Time}, Parts: self.Parts}
	if err := measureAll(ctx, s, r, new(bytes.Buffer)); err == nil || len(r.Results) != 0 {
		t.Errorf("%v, and %d results after the interrupt", err, len(r.Results))
	}
}

func TestTrialsAreInterleaved(t *testing.T) {
	got := ""
	for _, j := range plan(&program.Settings{Parts: []string{measure.Million}, Contenders: []string{peer.Time, peer.Foliot}}) {
		got += j.Contender + " "
	}
	if want := "time foliot time foliot time foliot "; got != want {
		t.Errorf("order %q, want %q", got, want)
	}
}
