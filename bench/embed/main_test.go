package main

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/foliot/foliot/bench/child"
	"github.com/foliot/foliot/bench/embed/contender"
	"github.com/foliot/foliot/bench/embed/report"
	"github.com/foliot/foliot/bench/embed/trial"
	"github.com/foliot/foliot/bench/record"
	"github.com/foliot/foliot/internal/redistest"
)

// TestMain lets the test binary run as the processes that measure.
func TestMain(m *testing.M) {
	if child.Role() == trial.Role {
		_ = child.Serve(new(trial.Node))
		return
	}
	os.Exit(m.Run())
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
			for _, x := range []report.Step{
				{Kind: trial.Create, Callers: 2, For: 50 * time.Millisecond},
				{Kind: trial.Standing, Callers: 4, Each: 10, N: 40},
				{Kind: trial.Handle, Callers: 4, Each: 10, N: 40, Limit: 5*time.Second + wait},
			} {
				x.Contender = info.Name
				out, err := b.step(t.Context(), &x)
				v := out.Values
				if err != nil || v[trial.Rate] <= 0 {
					t.Fatalf("%s: %+v, %v", x.Kind, out, err)
				}
				if x.Kind == trial.Standing && v[trial.Store] < 50 {
					t.Errorf("a task has %v bytes", v[trial.Store])
				}
				if x.Kind == trial.Handle && (v[record.Fired] != 40 || v[record.Lost]+v[record.Doubled] != 0) {
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
	info, err := contender.Find("foliot-dir")
	if err != nil {
		t.Fatal(err)
	}
	x := report.Step{Contender: info.Name, Kind: trial.Plant, N: 20, Callers: 1, Over: 500 * time.Millisecond, Limit: 10 * time.Second}
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

func TestOnlyTheWholeSetIsPublished(t *testing.T) {
	for args, docs := range map[string]string{
		"": "docs", "-small": "bin/bench-embed", "-quick": "bin/bench-embed", "-n 1000": "bin/bench-embed",
		"-contender foliot-dir": "bin/bench-embed", "-part idle": "bin/bench-embed",
	} {
		s, err := parse(strings.Fields(args))
		if err != nil || s.Docs != docs {
			t.Errorf("%q: %+v, %v", args, s, err)
		}
	}
	for _, args := range []string{"-contender unknown", "-part some", "late", "-n 1", "-rounds 0"} {
		if s, err := parse(strings.Fields(args)); err == nil {
			t.Errorf("%q: %+v", args, s)
		}
	}
}

func TestContendersTakeTurns(t *testing.T) {
	s, err := parse([]string{"-part", "handle"})
	if err != nil {
		t.Fatal(err)
	}
	var order []string
	for _, x := range steps(&s) {
		order = append(order, x.Contender)
	}
	if all := contender.Names(); len(order) != 3*len(all) || !slices.Equal(order[:len(all)], all) {
		t.Errorf("the order is %v", order)
	}
}

func TestTheWholeSetTakesLessThanHalfAnHour(t *testing.T) {
	s, err := parse(nil)
	if err != nil {
		t.Fatal(err)
	}
	list := steps(&s)
	all := expectedOf(list)
	if t.Log(all, "for", len(list)); all > 30*time.Minute {
		t.Errorf("it takes %v", all)
	}
}
