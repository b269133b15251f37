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
	files, err := r.Files()
	if err != nil {
		t.Fatal(err)
	}
	return string(files["idle-benchmarks.md"])
}

func TestTheTablesSayWhatWasMeasured(t *testing.T) {
	r := sample()
	for _, test := range []struct{ what, text string }{
		{r.Closed(), "| closed on time | 0 | 40 | 40 |"},
		{r.Closed(), "| late, p99, ms | – | **2.0** | **2.0** |"},
		{r.Closed(), "| promised: late by, ms | – | 1000 | **31** |"},
		{r.Kinds(), "| silent: 40 | **never** | on time | on time |"},
		{r.Spent(), "| CPU for a message, µs | 20 | 21 | **20** |"},
		{r.Spent(), "| more than without timeouts, % | -4.8 | 0 | **-2.9** |"},
		{r.Spent(), "| bytes more for a connection, heap | 0 | **+50** | +100 |"},
		{r.Spent(), "| descriptors before, open, after | 10, 110, 10 | 10, 110, 10 | 10, 110, 10 |"},
		{r.Noise(), "2.0 µs apart, which is 9.5 %"},
		{r.Targets(), "| a touch, added to a read | ≤ 2 ns | 1.5 ns | reached |"},
		{r.Targets(), "| 10⁶ of them, without the touches | ≤ 1 % of one processor | 0.5 % of one processor | reached |"},
		{r.Targets(), "other ticks shift by | ≤ 10 ms | 5.0 ms | reached |"},
		{r.Targets(), "| the same, 64 goroutines | ≤ 2 ns | – | not measured |"},
		{r.Herd(), "| none | 0 | 0 | 30 | – |"},
		{r.Herd(), "| 1000 | 0 | 0 | 35 | 5.0 |"},
		{filled(t, r), "- late, p99 (ms)\n  - best: scan 2.0; idle, touches 2.0\n"},
		{filled(t, r), "- bytes for a connection, heap and stack\n  - best: scan 50\n  - other ways of idle: idle, touches 100\n"},
		{filled(t, r), "- Failed: timer: it broke"},
	} {
		if !strings.Contains(test.what, test.text) {
			t.Errorf("%q is missing in\n%s", test.text, test.what)
		}
	}
}

func TestAKindsCellIsOneWordIfAllWentAsItShould(t *testing.T) {
	for _, test := range []struct {
		alive  bool
		counts map[verdict.Verdict]int
		want   string
	}{
		{true, map[verdict.Verdict]int{verdict.Kept: 10_000}, "kept"},
		{false, map[verdict.Verdict]int{verdict.OnTime: 5}, "on time"},
		{false, map[verdict.Verdict]int{verdict.Blind: 12_000}, "cannot tell"},
		{true, map[verdict.Verdict]int{verdict.Kept: 3, verdict.Wrong: 1}, "3 kept, 1 **wrongly closed**"},
		{false, map[verdict.Verdict]int{verdict.Never: 3, verdict.Late: 1}, "0 on time, 1 late, 3 **never**"},
		{true, nil, "kept"},
	} {
		var counts [verdict.Verdicts]int
		for v, n := range test.counts {
			counts[v] = n
		}
		if got := outcome(counts, test.alive); got != test.want {
			t.Errorf("%v: %q, want %q", test.counts, got, test.want)
		}
	}
}

func TestThePageNeedsNothingToHaveBeenMeasured(t *testing.T) {
	for _, r := range []*Run{sample(), {}} {
		text := filled(t, r)
		if !strings.Contains(text, "This run is not complete") || strings.Contains(text, "NaN") {
			t.Errorf("got\n%s", text)
		}
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
