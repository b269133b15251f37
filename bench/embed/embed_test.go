// Package embed measures libraries that keep timers durably for a Go program.
package embed

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/foliot/foliot/bench/child"
	"github.com/foliot/foliot/bench/embed/contender"
	"github.com/foliot/foliot/bench/embed/server"
	"github.com/foliot/foliot/bench/embed/trial"
	"github.com/foliot/foliot/bench/metric"
	redisserver "github.com/foliot/foliot/bench/redis/server"
)

// TestMain lets the test binary run as the process that is killed.
func TestMain(m *testing.M) {
	child.Main(map[string]any{"node": new(trial.Node)})
	os.Exit(m.Run())
}

func BenchmarkCreate(b *testing.B) {
	each(b, trial.Order{Part: trial.Create, Callers: 16, Each: 1, Over: metric.Either(3*time.Second, 200*time.Millisecond)})
}

func BenchmarkBatch(b *testing.B) {
	each(b, trial.Order{Part: trial.Batch, Callers: 1, Each: 1000, Over: metric.Either(3*time.Second, 200*time.Millisecond)})
}

func BenchmarkStanding(b *testing.B) {
	each(b, trial.Order{Part: trial.Standing, N: metric.Either(100_000, 2000), Callers: 64, Each: 1000})
}

func BenchmarkBacklog(b *testing.B) {
	each(b, trial.Order{Part: trial.Backlog, N: metric.Either(10_000, 200), Callers: 64, Each: 1000, Limit: time.Minute})
}

func BenchmarkLate(b *testing.B) {
	each(b, trial.Order{Part: trial.Late, N: metric.Either(6000, 120), Callers: 16, Each: 1000, Over: metric.Either(20*time.Second, 2*time.Second), Limit: 20 * time.Second})
}

func BenchmarkSoon(b *testing.B) {
	each(b, trial.Order{Part: trial.Soon, N: metric.Either(800, 80), Over: metric.Either(20*time.Second, 2*time.Second), Limit: 20 * time.Second})
}

// BenchmarkSteady, BenchmarkSnapshot and BenchmarkWriter run for -held each, and only if
// they are named.
func BenchmarkSteady(b *testing.B) { held(b, trial.Soon) }

func BenchmarkSnapshot(b *testing.B) { held(b, trial.Snapshot) }

func BenchmarkWriter(b *testing.B) { held(b, trial.Writer) }

var heldFor = flag.Duration("held", 3*time.Second, "how long BenchmarkSteady, BenchmarkSnapshot and BenchmarkWriter create 800 tasks a second")

func held(b *testing.B, part string) {
	each(b, trial.Order{Part: part, N: 800 * int(*heldFor/time.Second), Callers: 16, Over: *heldFor, Limit: time.Minute})
}

func BenchmarkIdle(b *testing.B) {
	each(b, trial.Order{Part: trial.Idle, N: metric.Either(10_000, 200), Callers: 16, Each: 1000, Over: metric.Either(10*time.Second, time.Second)})
}

func BenchmarkKill(b *testing.B) {
	each(b, trial.Order{Part: trial.Kill, N: 200, Callers: 1, Each: 1, Over: 5 * time.Second, Limit: time.Minute})
}

func BenchmarkHold(b *testing.B) {
	each(b, trial.Order{Part: trial.Hold, N: 1, Callers: 1, Each: 1, Limit: metric.Either(2*time.Minute, 10*time.Second)})
}

// each measures each contender. Of libraries with default settings it measures
// only the timing.
func each(b *testing.B, order trial.Order) {
	for i := range contender.All {
		info := &contender.All[i]
		timing := slices.Contains([]string{trial.Backlog, trial.Late, trial.Soon, trial.Idle}, order.Part)
		if !info.Tuned && !timing || !info.Many && order.Part == trial.Batch {
			continue
		}
		b.Run(info.Name, func(b *testing.B) {
			s := start(b, info)
			if info.Store == contender.Directory {
				fmt.Printf("sync: %.1f ms\n", syncTime())
			}
			v, err := s.measure(b.Context(), order)
			metric.Report(b, v, err)
		})
	}
}

// servers has an empty store of a contender.
type servers struct {
	info     *contender.Info
	stores   contender.Stores
	redis    *redisserver.Server // nil unless the contender needs it
	postgres *server.Postgres    // the same
}

// start starts the server that a contender needs. It skips the benchmark or
// test if the server is not installed.
func start(tb testing.TB, info *contender.Info) *servers {
	tb.Helper()
	s := &servers{info: info, stores: contender.Stores{Dir: tb.TempDir()}}
	if info.Need != nil {
		if err := info.Need(); err != nil {
			tb.Skip(err)
		}
	}
	var err error
	switch info.Store {
	case contender.Redis:
		if _, err := exec.LookPath("redis-server"); err != nil {
			tb.Skip("redis-server is not installed (Debian: apt-get install redis-server)")
		}
		if s.redis, err = redisserver.Start(); err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() { _ = s.redis.Close() })
		fmt.Println("redis:", s.redis.Version(tb.Context()))
		s.stores.Redis = s.redis.Addr
		s.stores.PID, err = s.redis.PID(tb.Context())
	case contender.Postgres:
		s.postgres, err = server.StartPostgres(tb.Context())
		if errors.Is(err, server.ErrMissing) {
			tb.Skip(err)
		}
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() { _ = s.postgres.Close() })
		fmt.Println("postgres:", s.postgres.Version(tb.Context()))
		s.stores.PID = s.postgres.PID()
		s.stores.Postgres = s.postgres.URL
	}
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func (s *servers) measure(ctx context.Context, order trial.Order) (metric.Values, error) {
	order.Contender, order.Stores = s.info.Name, s.stores
	switch order.Part {
	case trial.Standing:
		return s.standing(ctx, order)
	case trial.Kill, trial.Hold:
		return s.killed(ctx, order)
	}
	return trial.Run(ctx, order)
}

// killed kills the process of an order, and lets this one run its tasks.
func (s *servers) killed(ctx context.Context, order trial.Order) (metric.Values, error) {
	p, err := child.Start("node")
	if err != nil {
		return nil, err
	}
	err = p.Call(ctx, "Run", order, new(struct{}))
	err = errors.Join(err, syscall.Kill(p.PID(), syscall.SIGKILL))
	_ = p.End() // the process is dead, so End only waits for it
	if err != nil {
		return nil, err
	}
	if order.Part == trial.Kill { // after trial.Hold a crash of the server would add to the measured delay
		if err := s.crash(ctx); err != nil {
			return nil, err
		}
	}
	v, err := trial.Reap(ctx, order)
	if err == nil && order.Part == trial.Hold && v[metric.Fired] == 0 {
		v["over_s"] = order.Limit.Seconds()
	}
	return v, err
}

func (s *servers) crash(ctx context.Context) error {
	switch s.info.Store {
	case contender.Redis:
		return s.redis.Crash()
	case contender.Postgres:
		return s.postgres.Crash(ctx)
	}
	return nil
}

// standing measures the size of tasks that wait.
func (s *servers) standing(ctx context.Context, order trial.Order) (metric.Values, error) {
	var before float64
	if s.redis != nil {
		u, err := s.redis.Settled(ctx)
		if err != nil {
			return nil, err
		}
		before = u.Memory
	}
	v, err := trial.Run(ctx, order)
	if err != nil {
		return nil, err
	}
	after, err := s.size(ctx)
	v[metric.Bytes] = (after - before) / float64(order.N)
	return v, err
}

// size returns the bytes of the store: of the table in PostgreSQL, without
// write-ahead logs, which do not grow with the number of tasks.
func (s *servers) size(ctx context.Context) (float64, error) {
	switch s.info.Store {
	case contender.Redis:
		u, err := s.redis.Settled(ctx)
		return u.Memory, err
	case contender.Postgres:
		return s.postgres.Size(ctx)
	}
	return onDisk(s.stores.Dir)
}

// onDisk returns the bytes of the blocks of all files in a directory, without
// write-ahead logs.
func onDisk(dir string) (bytes float64, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, ".log") || strings.HasSuffix(path, "-wal") { // of Pebble, of SQLite
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if s, ok := info.Sys().(*syscall.Stat_t); ok {
			bytes += float64(s.Blocks) * 512
		}
		return nil
	})
	return bytes, err
}

// syncTime returns the median time in milliseconds to append 4 KiB to a file in
// the directory of temporary files and to sync it.
func syncTime() float64 {
	f, err := os.CreateTemp("", "foliot-bench-sync-")
	if err != nil {
		return 0
	}
	defer func() { _ = errors.Join(f.Close(), os.Remove(f.Name())) }()
	var took []float64
	for block := make([]byte, 4096); len(took) < 200; {
		began := time.Now()
		if _, err := f.Write(block); err != nil || f.Sync() != nil {
			return 0
		}
		took = append(took, metric.Millis(time.Since(began)))
	}
	slices.Sort(took)
	return took[len(took)/2]
}

func TestEachLibraryDoesTheWork(t *testing.T) {
	for i := range contender.All {
		info := &contender.All[i]
		t.Run(info.Name, func(t *testing.T) {
			if testing.Short() && !info.Tuned {
				t.Skip("its tuned form has the same code")
			}
			t.Parallel() // each has servers of its own
			v, err := start(t, info).measure(t.Context(), trial.Order{Part: trial.Create, Callers: 2, Each: 1, Over: 50 * time.Millisecond})
			if err != nil || v[metric.Rate] <= 0 {
				t.Fatalf("create: %v, %v", v, err)
			}
			limit := 5 * time.Second
			if !info.Ours() { // River first elects a leader
				limit += 12 * time.Second
			}
			v, err = start(t, info).measure(t.Context(), trial.Order{Part: trial.Backlog, Callers: 4, Each: 10, N: 40, Limit: limit})
			if err != nil || v[metric.Fired] != 40 || v[metric.Lost]+v[metric.Doubled] != 0 || info.Ours() && v[metric.Early] != 0 {
				t.Fatalf("of 40 tasks: %v, %v", v, err)
			}
		})
	}
}

func TestATaskOfAKilledProgramRunsInTheNextOne(t *testing.T) {
	info, err := contender.Find("foliot-dir")
	if err != nil {
		t.Fatal(err)
	}
	order := trial.Order{Part: trial.Kill, N: 20, Callers: 1, Each: 1, Over: 500 * time.Millisecond, Limit: 10 * time.Second}
	v, err := start(t, info).measure(t.Context(), order)
	if err != nil || v[metric.Fired] != 20 || v[metric.Lost]+v[metric.Early]+v[metric.Doubled] != 0 {
		t.Errorf("%v, %v", v, err)
	}
}
