package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/foliot/foliot/test/battery/verify"
)

func TestALogThatBreaksAPromiseFails(t *testing.T) {
	start := time.Date(2026, 11, 20, 20, 0, 0, 0, time.UTC)
	at := func(ms float64) time.Time { return start.Add(time.Duration(ms * float64(time.Millisecond))) }
	tasks := verify.Numbered{Prefix: "a", Count: 3, Due: func(i int) time.Time { return at(float64(100 * (i + 1))) }}
	write := func(lines ...any) string {
		path := filepath.Join(t.TempDir(), "sunk")
		var b []byte
		for i := 0; i < len(lines); i += 2 {
			b = fmt.Appendf(b, "%s id %d\n", lines[i], at(lines[i+1].(float64)).UnixNano())
		}
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for name, c := range map[string]struct {
		path  string
		fails bool
	}{
		"all is well": {write("a-0", 101.0, "a-1", 201.0, "a-2", 301.0), false},
		"one lost":    {write("a-0", 101.0, "a-1", 201.0), true},
		"one early":   {write("a-0", 99.0, "a-1", 201.0, "a-2", 301.0), true},
		"one twice":   {write("a-0", 101.0, "a-1", 201.0, "a-2", 301.0, "a-2", 302.0), true},
	} {
		tr := &trial{out: io.Discard}
		if _, err := tr.mustTally(tasks, c.path); err != nil {
			t.Fatal(err)
		}
		if tr.failed != c.fails {
			t.Errorf("%s: failed is %v", name, tr.failed)
		}
	}
}

func TestADrainOutOfOrderFails(t *testing.T) {
	for displaced, fails := range map[int]bool{maxInFlight: false, maxInFlight + 1: true} {
		var out strings.Builder
		tr := &trial{out: &out}
		tr.mustKeepOrder(verify.Tally{Displaced: []int{0, displaced}})
		if tr.failed != fails {
			t.Errorf("%d places away: failed is %v: %s", displaced, tr.failed, out.String())
		}
	}
}

func TestMemoryThatGrowsWithTheBacklogIsNotFlat(t *testing.T) {
	const mb = 1 << 20
	for _, c := range []struct {
		small, large int64
		flat         bool
	}{{100 * mb, 100 * mb, true}, {100 * mb, 150 * mb, true}, {100 * mb, 200 * mb, false}, {200 * mb, 1000 * mb, false}} {
		if flat(c.small, c.large) != c.flat {
			t.Errorf("from %d MB to %d MB: flat is %v", c.small/mb, c.large/mb, !c.flat)
		}
	}
}
