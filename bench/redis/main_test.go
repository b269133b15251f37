package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/foliot/foliot/bench/record"
	"github.com/foliot/foliot/bench/redis/contender"
	"github.com/foliot/foliot/bench/redis/receiver"
	"github.com/foliot/foliot/bench/redis/server"
	"github.com/foliot/foliot/internal/redistest"
)

// TestMain lets the test binary run as the child processes that deliver.
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
			r, err := b.step(t.Context(), &record.Job{Part: create, Contender: info.Name, Callers: 4, Each: min(info.Many, 25), N: 110, Size: 100})
			if v := r.Values; err != nil || v[createS] <= 0 || v[record.Bytes] < 100 || v[fileBytes] < 100 {
				t.Errorf("%+v, %v", r, err)
			}
			if !info.Calls {
				return
			}
			r, err = b.step(t.Context(), &record.Job{Part: late, Contender: info.Name, Callers: 4, Each: min(info.Many, 25), N: 100, Size: 100, Over: 2 * time.Second})
			v := r.Values
			if err != nil || v[record.Fired] != 100 || v[record.Lost]+v[record.Doubled] != 0 || v[receiver.Span] <= 0 {
				t.Fatalf("%+v, %v", r, err)
			}
			if info.Ours && v[record.Early] != 0 {
				t.Errorf("%v were early", v[record.Early])
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
