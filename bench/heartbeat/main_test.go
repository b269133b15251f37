package main

import (
	"bytes"
	"os"
	"testing"

	"github.com/foliot/foliot/bench/heartbeat/contender"
	"github.com/foliot/foliot/bench/program"
	"github.com/foliot/foliot/bench/record"
)

// TestMain lets the test binary run as a child process of the program.
func TestMain(m *testing.M) {
	serve()
	os.Exit(m.Run())
}

func TestTheCommittedPageIsThatOfTheCommittedResults(t *testing.T) {
	if err := self.Stale("../.."); err != nil {
		t.Error(err)
	}
}

func TestEachContenderIsMeasuredInItsOwnProcess(t *testing.T) {
	r, s := new(record.Run), &program.Settings{Quick: true, Contenders: []string{"unknown", "extend", "heap"}}
	if err := measureAll(t.Context(), s, r, new(bytes.Buffer)); err != nil || len(r.Results) != 3 || len(r.Failures()) != 1 {
		t.Fatalf("%+v, %v", r.Results, err)
	}
	for _, x := range r.Results[1:] {
		if v := x.Values; x.Failed != "" || v[record.CPUNanos] <= 0 || v[contender.CallNanos] <= 0 || v[record.Bytes] <= 0 {
			t.Errorf("%+v", x)
		}
	}
}
