package report

import (
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/foliot/foliot/bench/embed/trial"
	"github.com/foliot/foliot/bench/record"
)

func sample() *Run {
	late := func(name string, v record.Values) Result {
		return Result{Step: Step{Contender: name, Kind: trial.Late, Round: 1, N: 1000}, Values: v}
	}
	create := func(name string, round int, rate float64) Result {
		return Result{Step: Step{Contender: name, Kind: trial.Create, Round: round, Callers: 16}, Values: record.Values{trial.Rate: rate}}
	}
	return &Run{
		Head:   record.Head{Command: "make bench-embed", Modules: map[string]string{"b": "v2", "a": "v1"}},
		NotRun: map[string]string{"river-pg": "PostgreSQL is not installed"},
		Results: []Result{
			create("foliot-dir", 1, 100), create("foliot-dir", 2, 900), create("foliot-dir", 3, 300),
			late("foliot-dir", record.Values{record.P50Ms: 1, record.P99Ms: 2, record.MaxMs: 3}),
			late("asynq", record.Values{record.P50Ms: 2500, record.P99Ms: 5000, record.MaxMs: 5100, record.Early: 7, record.EarliestMs: 900, record.Lost: 1}),
			{Step: Step{Contender: "asynq-fast", Kind: trial.Facts, N: 60}, Values: record.Values{trial.Cancelled: 20, trial.Refused: 40, trial.Broken: 2}, Texts: map[string]string{trial.Unique: "yes", trial.Moves: "no", trial.Cancels: "yes"}},
			{Step: Step{Contender: "asynq-fast", Kind: trial.Plant, N: 200}, Values: record.Values{record.Lost: 3}},
			{Step: Step{Contender: "foliot-redis", Kind: trial.Late}, Failed: "it broke"},
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

func TestThePageShowsTheResults(t *testing.T) {
	text := filled(t, sample())
	for _, part := range []string{
		"| **Foliot, directory** | 300 | – | – | – | 2.0 | 0 |",
		"| asynq, defaults | – | – | – | – | 5000 | 7.0 |",
		"| asynq, tuned | – | – | – | – | – | – | – | – | – | no | 3.0 | – |",
		"- Not run: river-pg, because PostgreSQL is not installed",
		"- Failed: foliot-redis, late: it broke", "This run is not complete", "a v1, b v2",
	} {
		if !strings.Contains(strings.Join(strings.Fields(text), " "), part) {
			t.Errorf("it lacks %q:\n%s", part, text)
		}
	}
	if empty := filled(t, new(Run)); strings.Contains(empty, "NaN") {
		t.Errorf("a run without results:\n%s", empty)
	}
}
