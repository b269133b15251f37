package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/foliot/foliot/bench/child"
	"github.com/foliot/foliot/bench/redis/contender"
	"github.com/foliot/foliot/bench/redis/receiver"
	"github.com/foliot/foliot/bench/redis/report"
	"github.com/foliot/foliot/bench/redis/server"
	"github.com/foliot/foliot/internal/redistest"
)

// TestMain lets the test binary run as the child processes that deliver.
func TestMain(m *testing.M) {
	if child.Role() == contender.Role {
		_ = child.Serve(new(contender.Node))
		return
	}
	os.Exit(m.Run())
}

func TestAllContendersEndToEnd(t *testing.T) {
	redistest.Need(t)
	foliot := filepath.Join(t.TempDir(), "foliot")
	build := exec.Command("go", "build", "-buildvcs=false", "-o", foliot, "./cmd/foliot")
	build.Dir = "../.."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for i := range contender.All {
		info := &contender.All[i]
		t.Run(info.Name, func(t *testing.T) {
			t.Parallel() // each has a Redis of its own
			b := newBench(t, foliot)
			r, err := b.step(t.Context(), &report.Step{Kind: report.Create, Contender: info.Name, Callers: 4, Each: min(info.Many, 25), N: 110, Size: 100})
			if err != nil || r.Seconds <= 0 || r.Bytes < 100 || r.File < 100 {
				t.Errorf("%+v, %v", r, err)
			}
			if !info.Calls {
				return
			}
			r, err = b.step(t.Context(), &report.Step{Kind: report.Late, Contender: info.Name, Callers: 4, Each: min(info.Many, 25), N: 100, Size: 100, Over: 2 * time.Second})
			if err != nil || r.Calls == nil || r.Calls.Came != 100 || r.Calls.Lost+r.Calls.Doubled != 0 || r.Calls.Seconds <= 0 {
				t.Fatalf("%+v, %+v, %v", r, r.Calls, err)
			}
			if info.Ours && r.Calls.Early != 0 {
				t.Errorf("%d were early", r.Calls.Early)
			}
		})
	}
}

func newBench(t *testing.T, foliot string) *bench {
	t.Helper()
	b := &bench{env: contender.Environment{Foliot: foliot}}
	var err error
	if b.redis, err = server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.redis.Close() })
	if b.receiver, err = receiver.New(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.receiver.Close)
	return b
}

func TestOnlyTheWholeSetIsPublished(t *testing.T) {
	for args, docs := range map[string]string{"": "docs", "-quick": "bin/bench-redis", "-contender foliot,asynq": "bin/bench-redis", "-part idle": "bin/bench-redis"} {
		s, err := parse(strings.Fields(args))
		if err != nil || s.Docs != docs {
			t.Errorf("%q: %+v, %v", args, s, err)
		}
	}
	for _, args := range []string{"-contender unknown", "-part some", "late"} {
		if s, err := parse(strings.Fields(args)); err == nil {
			t.Errorf("%q: %+v", args, s)
		}
	}
}

func TestTheWholeSetTakesLessThanEightMinutes(t *testing.T) {
	s, err := parse(nil)
	if err != nil {
		t.Fatal(err)
	}
	list := steps(&s)
	all := expectedOf(list)
	if t.Log(all, "for", len(list)); all > 8*time.Minute {
		t.Errorf("it takes %v", all)
	}
}
