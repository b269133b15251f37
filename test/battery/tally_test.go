package main

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// sunkAt yields callbacks at instants in milliseconds into the run.
func sunkAt(lines ...any) iter.Seq2[sunkLine, error] {
	return func(yield func(sunkLine, error) bool) {
		for i := 0; i < len(lines); i += 2 {
			l := sunkLine{name: []byte(lines[i].(string)), id: []byte("id"), at: at(lines[i+1].(float64)).UnixNano()}
			if !yield(l, nil) {
				return
			}
		}
	}
}

// three tasks, due 100, 200 and 300 ms into the run.
var three = numbered{prefix: "a", count: 3, due: func(i int) time.Time { return at(float64(100 * (i + 1))) }}

func TestTheTallyCatchesWhatItIsFor(t *testing.T) {
	type counts struct{ arrived, lost, early, repeats, strangers int }
	for name, c := range map[string]struct {
		arrivals iter.Seq2[sunkLine, error]
		want     counts
	}{
		"all on time":          {sunkAt("a-0", 100.0, "a-1", 201.0, "a-2", 301.0), counts{arrived: 3}},
		"one lost":             {sunkAt("a-0", 100.0, "a-2", 301.0), counts{arrived: 2, lost: 1}},
		"one early":            {sunkAt("a-0", 99.999, "a-1", 201.0, "a-2", 301.0), counts{arrived: 3, early: 1}},
		"one twice":            {sunkAt("a-0", 101.0, "a-1", 201.0, "a-2", 301.0, "a-0", 302.0), counts{arrived: 4, repeats: 1}},
		"one of another name":  {sunkAt("a-0", 101.0, "a-1", 201.0, "b-2", 301.0), counts{arrived: 2, lost: 1, strangers: 1}},
		"a number there isn't": {sunkAt("a-0", 101.0, "a-1", 201.0, "a-3", 301.0), counts{arrived: 2, lost: 1, strangers: 1}},
		"nothing at all":       {sunkAt(), counts{lost: 3}},
	} {
		v, err := three.tally(c.arrivals)
		if err != nil {
			t.Fatal(err)
		}
		if got := (counts{v.Arrived, v.Lost.Count, v.Early.Count, v.Repeats, v.Strangers}); got != c.want {
			t.Errorf("%s: the tally says %+v, want %+v", name, got, c.want)
		}
		if len(v.Lost.First) != v.Lost.Count || len(v.Early.First) != v.Early.Count {
			t.Errorf("%s: it names %v and %v", name, v.Lost, v.Early)
		}
	}
}

func TestOfArrivalsTheEarliestCounts(t *testing.T) {
	v, err := three.tally(sunkAt("a-0", 150.0, "a-0", 130.0, "a-0", 140.0, "a-1", 201.0, "a-2", 301.0)) // lines of several connections
	if err != nil {
		t.Fatal(err)
	}
	if got := percentile(v.Late, 100); got != 30*time.Millisecond {
		t.Errorf("the latest was %v late, want 30 ms", got)
	}
}

func TestALogThatBreaksAPromiseFails(t *testing.T) {
	start := time.Date(2026, 11, 20, 20, 0, 0, 0, time.UTC)
	at := func(ms float64) time.Time { return start.Add(time.Duration(ms * float64(time.Millisecond))) }
	tasks := numbered{prefix: "a", count: 3, due: func(i int) time.Time { return at(float64(100 * (i + 1))) }}
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

func TestTheTallyReportsALogThatIsDamaged(t *testing.T) {
	for _, line := range []string{"a-0 id", "a-0 id soon", "a-0  id 5"} {
		if _, err := parseSunk([]byte(line)); err == nil || !strings.Contains(err.Error(), line) {
			t.Errorf("the line %q: %v", line, err)
		}
	}
	for _, err := range readSunk("there is no such file") {
		if err == nil {
			t.Error("a log that is not there was read")
		}
	}
}

func TestTheTallyTellsTheOrderAndTheRate(t *testing.T) {
	const count = 1000
	n := numbered{prefix: "a", count: count, due: func(i int) time.Time { return at(float64(i / 2)) }}
	arrive := func(place func(i int) int) iter.Seq2[sunkLine, error] {
		var lines []any
		for i := range count {
			lines = append(lines, n.name(i), 1000+float64(place(i)))
		}
		return sunkAt(lines...)
	}
	for name, c := range map[string]struct {
		place func(i int) int
		worst int
	}{
		"in order":                        {func(i int) int { return i }, 0},
		"pairs that are due together":     {func(i int) int { return i ^ 1 }, 0},
		"the first came last":             {func(i int) int { return (i + count - 1) % count }, count - 2},
		"backwards":                       {func(i int) int { return count - 1 - i }, count - 2},
		"neighbours of another due place": {func(i int) int { return i ^ 2 }, 2},
	} {
		v, err := n.tally(arrive(c.place))
		if err != nil {
			t.Fatal(err)
		}
		if got := percentile(v.Displaced, 100); got != c.worst {
			t.Errorf("%s: the worst is %d places away, want %d", name, got, c.worst)
		}
		if v.Rate < 990 || v.Rate > 1010 || v.Last.Sub(v.First) != (count-1)*time.Millisecond {
			t.Errorf("%s: %.0f a second from %v to %v, want one each millisecond", name, v.Rate, v.First, v.Last)
		}
	}
}

func TestADrainOutOfOrderFails(t *testing.T) {
	for displaced, fails := range map[int]bool{maxInFlight: false, maxInFlight + 1: true} {
		var out strings.Builder
		tr := &trial{out: &out}
		tr.mustKeepOrder(tally{Displaced: []int{0, displaced}})
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

func TestProcessorTimeIsReadBehindAnyName(t *testing.T) {
	for _, name := range []string{"foliot", "a) b (c", "x y z"} {
		line := fmt.Sprintf("77 (%s) S 1 77 77 0 -1 4194560 1 0 0 0 150 25 0 0 20 0 9 0 1\n", name)
		if got, err := parseCPU([]byte(line)); err != nil || got != 1750*time.Millisecond {
			t.Errorf("of %q: %v, %v", name, got, err)
		}
	}
	for _, line := range []string{"", "77 (foliot", "77 (foliot) S 1 2 3", "77 (foliot) S 1 77 77 0 -1 4194560 1 0 0 0 x 25 0"} {
		if _, err := parseCPU([]byte(line)); err == nil {
			t.Errorf("%q tells a processor time", line)
		}
	}
}

func TestArrivalsBetweenTwoInstantsAreThoseOfTheTasksAlone(t *testing.T) {
	arrivals := sunkAt("a-0", 99.0, "a-1", 100.0, "b-1", 150.0, "a-2", 200.0, "a-0", 201.0)
	if n, err := three.between(arrivals, at(100), at(200)); n != 2 || err != nil {
		t.Errorf("%d came between, %v; want 2", n, err)
	}
	unreadable := func(yield func(sunkLine, error) bool) { yield(sunkLine{}, errors.New("no such file")) }
	if _, err := three.between(unreadable, at(100), at(200)); err == nil {
		t.Error("a log that is not there was counted")
	}
	if _, err := three.tally(unreadable); err == nil {
		t.Error("a log that is not there has a tally")
	}
}
