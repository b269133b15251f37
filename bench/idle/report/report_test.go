package report

import (
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/foliot/foliot/bench/idle/activity"
	"github.com/foliot/foliot/bench/idle/client"
	"github.com/foliot/foliot/bench/idle/guard"
	"github.com/foliot/foliot/bench/idle/load"
	"github.com/foliot/foliot/bench/idle/verdict"
	"github.com/foliot/foliot/bench/idle/virtual"
	"github.com/foliot/foliot/bench/record"
)

// sample is a small run: another guard, one of ours, and the run without
// timeouts twice.
func sample() *Run {
	loaded := func(name string, micros float64, heap int64) load.Result {
		r := load.Result{
			Guard: name, Connections: 100, PerMessage: []float64{micros * 1000, micros * 900, micros * 1100},
			Goroutines: 110, Heap: heap, Stack: 50_000, Before: 10, Peak: 110, After: 10,
		}
		r.Counters.Kinds[client.Talking][verdict.Kept] = 60
		r.Counters.Kinds[client.Silent][verdict.OnTime] = 40
		r.Counters.P50, r.Counters.P99, r.Counters.Max = time.Millisecond, 2*time.Millisecond, 3*time.Millisecond
		return r
	}
	r := &Run{
		Head:  record.Head{Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Took: 61, Command: "make bench-idle", Go: "go1"},
		Shape: load.Quick(100),
		Loads: []load.Result{
			loaded(guard.None, 20, 10_000), loaded("scan", 21, 15_000), loaded("idle-touch", 20.4, 20_000), loaded(guard.None, 22, 10_000),
			{Guard: "timer", Failed: "it broke"},
		},
		Costs: []activity.Cost{
			{Guard: guard.None, Goroutines: 1, Nanos: 2}, {Guard: "idle-touch", Goroutines: 1, Nanos: 3.5},
		},
		Crowds: []virtual.Crowd{
			{Watch: virtual.Near, Window: time.Minute, CPU: 900 * time.Millisecond, Bytes: 87},
			{Watch: virtual.Far, Window: time.Minute, CPU: 600 * time.Millisecond, Bytes: 87},
		},
		Herds: []virtual.Herd{
			{HerdConfig: virtual.HerdConfig{Timeout: time.Second}, Max: 30 * time.Millisecond},
			{HerdConfig: virtual.HerdConfig{Timeout: time.Second, Herd: 1000}, Max: 95 * time.Millisecond},
			{HerdConfig: virtual.HerdConfig{Timeout: time.Second, Herd: 1000}, Max: 35 * time.Millisecond},
			{HerdConfig: virtual.HerdConfig{Timeout: time.Second, Herd: 1000}, Max: 34 * time.Millisecond},
		},
	}
	r.Loads[0].Counters = verdict.Counters{}
	r.Loads[0].Counters.Kinds[client.Silent][verdict.Never] = 40
	return r
}

func filled(t *testing.T, r *Run) string {
	t.Helper()
	text, err := r.Page()
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestThePageShowsResultsLossesTargetsAndFailures(t *testing.T) {
	text := filled(t, sample())
	for _, part := range []string{
		"| scan | 0 | 0 | 1.0 | 2.0 | 21 | 50 | – |",
		"| **idle, touches** | 0 | 0 | 1.0 | 2.0 | 20 | 100 | – |",
		"- bytes for a connection: scan 50; idle, touches 100",
		"- a touch from 64 goroutines: wanted ≤ 2 ns, not measured",
		"0.5 % of one processor", "5.0 ms", "9.5 %",
		"- Failed: timer: it broke",
	} {
		if !strings.Contains(text, part) {
			t.Errorf("it lacks %q:\n%s", part, text)
		}
	}
}

func TestThePageNeedsNothingToHaveBeenMeasured(t *testing.T) {
	if text := filled(t, new(Run)); !strings.Contains(text, "This run is not complete") || strings.Contains(text, "NaN") {
		t.Errorf("got\n%s", text)
	}
}

func TestARunIsReadAsItWasWritten(t *testing.T) {
	want := sample()
	path := filepath.Join(t.TempDir(), "run.json")
	if err := record.Save(path, want); err != nil {
		t.Fatal(err)
	}
	got := new(Run)
	err := record.Load(path, got)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}
