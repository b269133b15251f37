package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/foliot/foliot/bench/idle/guard"
	"github.com/foliot/foliot/bench/idle/load"
	"github.com/foliot/foliot/bench/idle/verdict"
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

// All guards, with processes, sockets and a frozen client.
func TestAllGuardsUnderLoadEndToEnd(t *testing.T) {
	shape := load.Quick(60)
	var wg sync.WaitGroup
	results := make([]record.Result, len(guard.All))
	for i := range guard.All {
		wg.Go(func() {
			values, err := load.Run(t.Context(), guard.All[i].Name, &shape, func(string) {})
			if results[i].Values = values; err != nil {
				results[i].Failed = err.Error()
			}
		})
	}
	wg.Wait()
	for i := range results {
		check(t, &guard.All[i], &shape, &results[i])
	}
}

func check(t *testing.T, info *guard.Info, shape *load.Shape, r *record.Result) {
	t.Helper()
	if r.Failed != "" {
		t.Errorf("%s failed: %s", info.Name, r.Failed)
		return
	}
	v, judged := r.Values, 0.0
	of := func(x verdict.Verdict) float64 { return v[verdict.Names[x]] }
	for _, name := range verdict.Names {
		judged += v[name]
	}
	if judged != float64(shape.Connections) {
		t.Errorf("%s: %v of %d connections were judged", info.Name, judged, shape.Connections)
	}
	if v[load.After] != v[load.Before] || v[load.Peak] != v[load.Before]+judged {
		t.Errorf("%s: %v descriptors, %v with all open, %v afterwards", info.Name, v[load.Before], v[load.Peak], v[load.After])
	}
	closed := of(verdict.OnTime) + of(verdict.Late)
	if info.Name == guard.None {
		if closed > 0 {
			t.Errorf("%v were closed without timeouts", closed)
		}
		return
	}
	if closed == 0 && v[load.Stalls] == 0 {
		t.Errorf("%s closed nothing", info.Name)
	}
	// On a busy machine, a deadline of other guards may pass before the data
	// that came is read.
	if n := of(verdict.Wrong); info.Ours && n > 0 {
		t.Errorf("%s closed %v wrongly", info.Name, n)
	}
	if n := of(verdict.Never); info.Ours && n > 0 && v[load.Stalls] == 0 {
		t.Errorf("%s never closed %v", info.Name, n)
	}
}

func TestAGuardThatFailsIsReportedAndTheRestGoesOn(t *testing.T) {
	r := &record.Run{Notes: map[string]string{}}
	s := &program.Settings{Quick: true, Contenders: []string{"unknown", "unknown too"}, Parts: []string{partSockets}}
	if err := measureAll(t.Context(), s, r, new(bytes.Buffer)); err != nil {
		t.Fatal(err)
	}
	if list := r.Failures(); len(list) != 2 || !strings.Contains(list[0], `there is no contender "unknown"`) {
		t.Errorf("failures: %q", list)
	}
}

func TestAnInterruptEndsTheRun(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(300*time.Millisecond, cancel)
	start := time.Now()
	s := &program.Settings{Quick: true, Contenders: []string{guard.None}, Parts: self.Parts}
	if err := measureAll(ctx, s, &record.Run{Notes: map[string]string{}}, new(bytes.Buffer)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("it went on for %v", took)
	}
}
