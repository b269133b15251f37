package record

import (
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestARunIsReadAsItWasWritten(t *testing.T) {
	want := &Run{
		Head: Head{
			Started:  time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
			Took:     12.5,
			Command:  "make bench",
			Modules:  map[string]string{"a": "v1"},
			Machine:  Machine{CPU: "one", Cores: 2},
			Complete: true,
		},
		Notes: map[string]string{"redis": "7"},
		Results: []Result{
			{Job: Job{Part: "w", Contender: "p", N: 1, Trial: 1, Over: time.Second}, Outcome: Outcome{Values: Values{WallNanos: 1.5, Bytes: 2}, Texts: map[string]string{"a": "b"}}},
			{Job: Job{Part: "w", Contender: "q"}, Failed: "it \"broke\"\nhere"},
		},
	}
	path := filepath.Join(t.TempDir(), "run.json")
	if err := Save(path, want); err != nil {
		t.Fatal(err)
	}
	if got, err := Load(path); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v\nwant %+v", got, err, want)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const end = `	"results": [
		{"part": "w", "contender": "p", "trial": 1, "n": 1, "over": 1000000000, "values": {"bytes": 2, "ns": 1.5}, "texts": {"a": "b"}},
		{"part": "w", "contender": "q", "failed": "it \"broke\"\nhere"}
	]
}
`
	if !strings.HasSuffix(string(text), end) {
		t.Errorf("each result has a line: got\n%s\nwant the end\n%s", text, end)
	}
}

// TestMedian has jobs, and the median of the results that are like them.
func TestMedian(t *testing.T) {
	r := &Run{}
	for i, value := range []float64{1, 3, 2, 10} {
		r.Results = append(r.Results, Result{Job: Job{Part: "p", Contender: "c", Trial: i + 1, N: 10, Callers: 1}, Outcome: Outcome{Values: Values{Bytes: value}}})
	}
	r.Results = append(r.Results, Result{Job: Job{Part: "p", Contender: "c", N: 10, Callers: 2}, Outcome: Outcome{Values: Values{Bytes: 100}}},
		Result{Job: Job{Part: "p", Contender: "c", N: 10, Callers: 1}, Outcome: Outcome{Values: Values{Bytes: 1000}}, Failed: "it broke"})
	for _, c := range []struct {
		job  Job
		want float64
	}{
		{Job{Part: "p", Callers: 1}, 2.5}, {Job{Contender: "c"}, 3}, {Job{Trial: 4}, 10}, {Job{Callers: 2, N: 10}, 100}, {Job{N: 11}, math.NaN()}, {Job{Part: "q"}, math.NaN()},
	} {
		if got := r.Median(c.job, Bytes); got != c.want && !math.IsNaN(c.want+got) {
			t.Errorf("%+v: %v, want %v", c.job, got, c.want)
		}
	}
	if list := r.Failures(); len(list) != 1 || list[0] != "c, p: it broke" {
		t.Errorf("failures: %q", list)
	}
}
