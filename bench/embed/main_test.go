package main

import (
	"os"
	"testing"
	"time"

	"github.com/foliot/foliot/bench/embed/contender"
	"github.com/foliot/foliot/bench/embed/trial"
	"github.com/foliot/foliot/bench/record"
	"github.com/foliot/foliot/internal/redistest"
)

// TestMain lets the test binary run as the processes that measure.
func TestMain(m *testing.M) {
	serve()
	os.Exit(m.Run())
}

func TestTheCommittedPageIsThatOfTheCommittedResults(t *testing.T) {
	if err := self.Stale("../.."); err != nil {
		t.Error(err)
	}
}

func TestAllContendersEndToEnd(t *testing.T) {
	for i := range contender.All {
		info := &contender.All[i]
		t.Run(info.Name, func(t *testing.T) {
			if testing.Short() && !info.Tuned {
				t.Skip("its tuned form has the same code")
			}
			t.Parallel() // each has servers of its own
			b := newBench(t, info)
			var wait time.Duration
			if !info.Ours { // River first elects a leader
				wait = 12 * time.Second
			}
			for _, x := range []record.Job{
				{Part: trial.Create, Callers: 2, Over: 50 * time.Millisecond},
				{Part: trial.Standing, Callers: 4, Each: 10, N: 40},
				{Part: trial.Handle, Callers: 4, Each: 10, N: 40, Limit: 5*time.Second + wait},
			} {
				x.Contender = info.Name
				out, err := b.step(t.Context(), &x)
				v := out.Values
				if err != nil || v[trial.Rate] <= 0 {
					t.Fatalf("%s: %+v, %v", x.Part, out, err)
				}
				if x.Part == trial.Standing && v[trial.Store] < 50 {
					t.Errorf("a task has %v bytes", v[trial.Store])
				}
				if x.Part == trial.Handle && (v[record.Fired] != 40 || v[record.Lost]+v[record.Doubled] != 0) {
					t.Errorf("of 40 tasks: %+v", v)
				}
				if info.Ours && v[record.Early] != 0 {
					t.Errorf("%v were early", v[record.Early])
				}
			}
		})
	}
}

func TestATaskOfAKilledProgramRunsInTheNextOne(t *testing.T) {
	info, err := record.Find(contender.All, "foliot-dir")
	if err != nil {
		t.Fatal(err)
	}
	x := record.Job{Contender: info.Name, Part: trial.Plant, N: 20, Callers: 1, Over: 500 * time.Millisecond, Limit: 10 * time.Second}
	out, err := newBench(t, info).step(t.Context(), &x)
	if v := out.Values; err != nil || v[record.Fired] != 20 || v[record.Lost]+v[record.Early]+v[record.Doubled] != 0 {
		t.Errorf("%+v, %v", out, err)
	}
}

func newBench(t *testing.T, info *contender.Info) *bench {
	t.Helper()
	if info.Store == contender.Redis {
		redistest.Need(t)
	}
	b, err := open(t.Context(), []string{info.Name})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	if why := b.missing[info.Store]; why != "" {
		t.Skip(why)
	}
	return b
}
