package report

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/foliot/foliot/bench/measure"
	"github.com/foliot/foliot/bench/page"
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

func TestThePageIsAsItWas(t *testing.T) {
	files, err := made().Files()
	if err != nil {
		t.Fatal(err)
	}
	got := files["benchmarks.md"]
	path := filepath.Join("testdata", "benchmarks.md")
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s has changed: check the difference, then run UPDATE_GOLDEN=1 go test ./...\n%s", path, got)
	}
}

func TestEveryPlotOfThePageIsWritten(t *testing.T) {
	files, err := made().Files()
	if err != nil {
		t.Fatal(err)
	}
	page := string(files["benchmarks.md"])
	for path := range files {
		if strings.HasSuffix(path, ".svg") && !strings.Contains(page, "]("+path+")") {
			t.Errorf("%s is not on the page", path)
		}
	}
	if shown, drawn := strings.Count(page, "](benchmarks/"), len(files)-1; shown != drawn || drawn == 0 {
		t.Errorf("%d plots are shown and %d were drawn", shown, drawn)
	}
}

func TestAnEmptyRunIsAPage(t *testing.T) {
	files, err := new(Run).Files()
	if err != nil {
		t.Fatal(err)
	}
	if page := string(files["benchmarks.md"]); len(files) != 1 || strings.Contains(page, "NaN") {
		t.Errorf("the page has an invalid number:\n%s", page)
	}
}

func TestMissedTargetsAreShown(t *testing.T) {
	targets := map[string]page.Verdict{}
	for _, x := range newView(made()).targets() {
		targets[x.What+" "+x.Wanted] = x.Verdict
	}
	for what, want := range map[string]page.Verdict{
		"add and remove at once, 10³ pending ≤ 75 ns":              page.Reached,
		"the same, 10⁶ ≥ 3 × package time":                         page.Reached,
		"extend a random timer, 10⁶ ≥ 2 × package time":            page.Unknown,
		"10⁶ due within 1 s, a goroutine each, total CPU ≤ 700 ms": page.Reached,
		"64 goroutines, add and remove ≤ 0.7 × package time":       page.Reached,
	} {
		if got, ok := targets[what]; !ok || got != want {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
	if page.Judge(false, 1) != page.Missed {
		t.Error("the page does not show that a target was missed")
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
