package report

import (
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/foliot/foliot/bench/record"
	"github.com/foliot/foliot/bench/redis/receiver"
)

func sample() *Run {
	late := func(name string, v receiver.Verdict) Result {
		return Result{Step: Step{Kind: Late, Contender: name, N: 1000, Size: 100}, Seconds: 1, Calls: &v, Bytes: 500, Life: float64(len(name) - 1)}
	}
	return &Run{
		Head: record.Head{Command: "make bench-redis", Modules: map[string]string{"b": "v2", "a": "v1"}},
		Results: []Result{
			{Step: Step{Kind: Create, Contender: "foliot", Callers: 16, Each: 1000, N: 100_000, Size: 100}, Seconds: 4, Redis: 30, Node: 26, Own: 7, Bytes: 800},
			{Step: Step{Kind: Create, Contender: "asynq", Callers: 64, Each: 1, N: 100_000, Size: 100}, Failed: "it broke"},
			late("foliot", receiver.Verdict{Came: 1000, P50: 1, P99: 30, Most: 40, Seconds: 1}),
			late("asynq", receiver.Verdict{Came: 999, Lost: 1, P50: 2500, P99: 5000, Most: 5100, Seconds: 1}),
		},
	}
}

func filled(t *testing.T, r *Run) string {
	t.Helper()
	text, err := r.Page()
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestARunIsReadAsItWasWritten(t *testing.T) {
	want, path := sample(), filepath.Join(t.TempDir(), "run.json")
	if err := record.Save(path, want); err != nil {
		t.Fatal(err)
	}
	got := new(Run)
	if err := record.Load(path, got); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestThePageSaysWhatWasReachedAndWhatFailed(t *testing.T) {
	r := sample()
	text := filled(t, r)
	for _, part := range []string{
		"| **Foliot** | – | 25\u00a0000 | 700 | 1.0 | 30 |",
		"- lateness, p99, at 1000 deliveries a second: wanted ≤ 20 ms, measured 30 ms",
		"- Redis, µs: asynq 4.0; Foliot 5.0",
		"- Failed: asynq, create: it broke", "This run is not complete", "a v1, b v2",
	} {
		if !strings.Contains(text, part) {
			t.Errorf("it lacks %q:\n%s", part, text)
		}
	}
	if list := r.Failures(); len(list) != 1 {
		t.Errorf("failures: %q", list)
	}
	if empty := filled(t, new(Run)); !strings.Contains(empty, "not measured") || strings.Contains(empty, "NaN") {
		t.Errorf("a run without results:\n%s", empty)
	}
}
