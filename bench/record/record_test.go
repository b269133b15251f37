package record

import (
	"path/filepath"
	"reflect"
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
		Skipped: []Skip{{Workload: "w", Peer: "p", N: 10, Why: "too much"}},
		Results: []Result{
			{Job: Job{Workload: "w", Peer: "p", N: 1, Trial: 1, Window: time.Second}, Values: Values{WallNanos: 1.5}, Took: 1},
			{Job: Job{Workload: "w", Peer: "q", N: 1}, Failed: "it \"broke\"\nhere"},
		},
	}
	for _, results := range [][]Result{want.Results, {}} {
		want.Results = results
		path := filepath.Join(t.TempDir(), "run.json")
		if err := want.Save(path); err != nil {
			t.Fatal(err)
		}
		got, err := LoadRun(path)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v\nwant %+v", got, want)
		}
	}
}
