package report

import (
	"strings"
	"testing"
	"time"

	"github.com/foliot/foliot/bench/heartbeat/contender"
)

// result is an invented trial with costs in nanoseconds.
func result(name string, each, call int, bytes float64) contender.Result {
	return contender.Result{
		Contender: name, Connections: 100_000, Heartbeats: 1000, Calls: 1000, Bytes: bytes,
		CPU: time.Duration(1000 * each), CallsCPU: time.Duration(1000 * call),
	}
}

func TestTheTableComparesWithTheHeapAndLeavesOutTheHarness(t *testing.T) {
	r := &Run{Results: []contender.Result{
		result(contender.None, 50, 10, 0),
		result(contender.Heap, 450, 310, 40), result(contender.Heap, 550, 210, 40), result(contender.Heap, 900, 110, 40),
		result("heap-inside", 550, 410, 20),
		result("extend", 150, 20, 30),
		{Contender: "idle", Failed: "it broke"},
	}}
	text, err := r.Page()
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{
		"| heap: remove and add | 200 | 6.0 | 40 |",
		"| **wheel: Extend** | 10 (-95\u00a0%) | 1.2 (-80\u00a0%) | 30 (-25\u00a0%) |",
		"- bytes for a connection: heap in the connections 20 (-50\u00a0%); wheel: Extend 30 (-25\u00a0%)",
		"- Failed: idle: it broke",
	} {
		if !strings.Contains(strings.ReplaceAll(string(text), "\n  ", " "), part) {
			t.Errorf("it lacks %q:\n%s", part, text)
		}
	}
}

func TestAnEmptyRunIsAPage(t *testing.T) {
	if text, err := new(Run).Page(); err != nil || !strings.Contains(string(text), "Not measured") || strings.Contains(string(text), "NaN") {
		t.Errorf("%v\n%s", err, text)
	}
}
