package report

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/foliot/foliot/bench/measure"
	"github.com/foliot/foliot/bench/peer"
	"github.com/foliot/foliot/bench/record"
)

// made is an invented run of two implementations and some workloads, with
// failures.
func made() *Run {
	r := &Run{
		Head: record.Head{
			Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
			Took:    754,
			Command: "make bench",
			Commit:  "0123456789ab",
			Go:      "go1.26.0",
			Modules: map[string]string{"github.com/zeromicro/go-zero": "v1.10.3"},
			Machine: record.Machine{CPU: "Made-up CPU", Cores: 2, MemoryGiB: 24, System: "Some Linux", Kernel: "6.1", Arch: "linux/amd64"},
		},
		Skipped: []record.Skip{{Workload: measure.AddRemove, Peer: peer.GoZero, N: 10_000_000, Why: "too dear"}},
	}
	add := func(workload, implementation string, n, goroutines int, values record.Values) {
		for trial := 1; trial <= 3; trial++ {
			spread := record.Values{}
			for name, x := range values {
				spread[name] = x * (0.8 + 0.1*float64(trial))
			}
			r.Results = append(r.Results, record.Result{
				Job: record.Job{Workload: workload, Peer: implementation, N: n, Goroutines: goroutines, Trial: trial}, Values: spread,
			})
		}
	}
	for i, name := range []string{peer.Foliot, peer.Time} {
		x := float64(1 + 3*i)
		perOperation := record.Values{record.WallNanos: 25 * x, record.CPUNanos: 24 * x, record.Allocs: float64(i)}
		for _, n := range []int{1_000, 1_000_000, 10_000_000} {
			add(measure.AddRemove, name, n, 1, perOperation)
			add(measure.Standing, name, n, 1, record.Values{record.Bytes: 32 * x, record.GCMs: 0.2 * x * float64(n) / 1e6})
		}
		add(measure.Heartbeat, name, 1_000, 1, record.Values{record.WallNanos: 50 / x, record.CPUNanos: 50 / x})
		add(measure.AddRemove, name, 1_000_000, 64, perOperation)
		late := record.Values{record.P50Ms: x, record.P99Ms: 10 * x, record.MaxMs: 20 * x, record.Early: 0, record.Fired: 1e6}
		add(measure.Accuracy, name, 21_000, 1, late)
		late[record.AddMs], late[record.FireMs] = 100*x, 400*x
		add(measure.Million, name, 1_000_000, 1, late)
	}
	add(measure.Floors, peer.None, 0, 1, record.Values{measure.FloorNames()[0]: 12_345})
	r.Results = append(r.Results, record.Result{
		Job: record.Job{Workload: measure.Replace, Peer: peer.Foliot, N: 1_000, Goroutines: 1, Trial: 1}, Failed: "it broke",
	})
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

func TestThePageShowsResultsLossesAndFailures(t *testing.T) {
	text := filled(t, made())
	for _, part := range []string{
		"| **Foliot** | 25 | 25 | – | – | 32 | 2.0 | 400 | 10 | 0 |",
		"- extend a random timer, 10⁶: wanted ≥ 2 × package time, not measured",
		"- `heartbeat` with 10³ pending: package time 13, Foliot 50 ns.",
		"- Failed: replace, foliot, 10³ timers, trial 1: it broke",
	} {
		if !strings.Contains(text, part) {
			t.Errorf("it lacks %q:\n%s", part, text)
		}
	}
	if strings.Contains(text, "set and remove at once, 10³") {
		t.Error("a target that was reached is listed as missed")
	}
}

func TestAnEmptyRunIsAPage(t *testing.T) {
	if text := filled(t, new(Run)); !strings.Contains(text, "not complete") || strings.Contains(text, "NaN") {
		t.Errorf("got\n%s", text)
	}
}

func TestWherePackageTimeWinsIsFoundOut(t *testing.T) {
	wins := newView(made()).TimeWins()
	if want := []string{"`heartbeat` with 10³ pending: package time 13, Foliot 50 ns."}; !slices.Equal(wins, want) {
		t.Errorf("got %q, want %q", wins, want)
	}
}

func TestPowersOfTenAreShort(t *testing.T) {
	for n, want := range map[float64]string{0: "0", 100: "100", 1000: "10³", 1e5: "10⁵", 1e6: "10⁶", 1e7: "10⁷", 21_000: "21\u00a0000"} {
		if got := Number(n); got != want {
			t.Errorf("%g is %q, want %q", n, got, want)
		}
	}
}
