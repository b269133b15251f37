package record

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

type testRun struct {
	Head
	Skipped []Skip
	Results []Result
}

func TestARunIsReadAsItWasWritten(t *testing.T) {
	want := &testRun{
		Head: Head{
			Started:  time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
			Took:     12.5,
			Command:  "make bench",
			Modules:  map[string]string{"a": "v1"},
			Machine:  Machine{CPU: "one", Cores: 2},
			Complete: true,
		},
		Skipped: []Skip{{Workload: "w", Peer: "p", N: 10, Why: "too much"}},
		Results: []Result{
			{Job: Job{Workload: "w", Peer: "p", N: 1, Trial: 1, Window: time.Second}, Values: Values{WallNanos: 1.5}, Took: 1},
			{Job: Job{Workload: "w", Peer: "q", N: 1}, Failed: "it \"broke\"\nhere"},
		},
	}
	for _, results := range [][]Result{want.Results, {}} {
		want.Results = results
		path := filepath.Join(t.TempDir(), "run.json")
		if err := Save(path, want); err != nil {
			t.Fatal(err)
		}
		got := new(testRun)
		if err := Load(path, got); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v\nwant %+v", got, want)
		}
	}
}

func TestEachResultIsOnALineOfItsOwn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.json")
	run := testRun{Results: []Result{{Job: Job{Workload: "w"}, Values: Values{"a": 1, "b": 2}}, {Failed: "a\n\tb"}}}
	if err := Save(path, run); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const want = `	"Results": [
		{"workload": "w", "peer": "", "n": 0, "trial": 0, "values": {"a": 1, "b": 2}, "took": 0},
		{"workload": "", "peer": "", "n": 0, "trial": 0, "failed": "a\n\tb", "took": 0}
	]
}
`
	if !strings.HasSuffix(string(text), want) {
		t.Errorf("got\n%s\nwant the end\n%s", text, want)
	}
}
