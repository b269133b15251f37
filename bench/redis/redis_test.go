// Package redis measures programs that keep tasks in Redis and call URLs at
// given times.
package redis

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot/foliot/bench/child"
	"github.com/foliot/foliot/bench/counters"
	"github.com/foliot/foliot/bench/metric"
	"github.com/foliot/foliot/bench/redis/contender"
	"github.com/foliot/foliot/bench/redis/server"
	"github.com/foliot/foliot/bench/usage"
	"github.com/foliot/foliot/internal/redistest"
)

// TestMain lets the test binary run as the processes that deliver.
func TestMain(m *testing.M) {
	child.Main(map[string]any{contender.Role: new(contender.Node)})
	os.Exit(m.Run())
}

const (
	bodySize = 100             // bytes
	lead     = 6 * time.Second // from the first create to the first due time, if tasks are called
	tail     = 8 * time.Second // from the last due time until missing calls count as lost
)

// load describes a measurement.
type load struct {
	n             int
	callers, each int
	over          time.Duration // the due times are spread over it
	calls         bool          // the tasks are due soon, and called
}

func BenchmarkCreate(b *testing.B) {
	each(b, func(*contender.Info) load { return load{n: metric.Either(100_000, 1000), callers: 64, each: 1} })
}

func BenchmarkBatch(b *testing.B) {
	each(b, func(i *contender.Info) load { return load{n: metric.Either(100_000, 5000), callers: 16, each: i.Many} })
}

func BenchmarkLate(b *testing.B) {
	each(b, func(i *contender.Info) load {
		return soon(i, metric.Either(20_000, 2000), metric.Either(20*time.Second, 2*time.Second))
	})
}

func BenchmarkBacklog(b *testing.B) {
	each(b, func(i *contender.Info) load { return soon(i, metric.Either(20_000, 2000), 0) })
}

// soon returns the load of tasks that are called.
func soon(i *contender.Info, n int, over time.Duration) load {
	x := load{n: n, callers: 64, each: 1, over: over, calls: true}
	if i.Many > 1 {
		x.callers, x.each = 8, 100
	}
	return x
}

// each measures each contender. asynq-fast creates tasks as asynq does, and
// only Foliot has batches.
func each(b *testing.B, of func(*contender.Info) load) {
	for i := range contender.All {
		info := &contender.All[i]
		x := of(info)
		if !x.calls && info.Name == "asynq-fast" || b.Name() == "BenchmarkBatch" && x.each == 1 {
			continue
		}
		b.Run(info.Name, func(b *testing.B) {
			v, err := newBench(b, "../../bin/foliot").measure(b.Context(), info, x)
			metric.Report(b, v, err)
		})
	}
}

// BenchmarkIdle measures contenders without tasks.
func BenchmarkIdle(b *testing.B) {
	for i := range contender.All {
		info := &contender.All[i]
		b.Run(info.Name, func(b *testing.B) {
			e := newBench(b, "../../bin/foliot")
			running, err := info.Open(b.Context(), e.redis.Addr, true, &e.env)
			if err != nil {
				b.Fatal(err)
			}
			time.Sleep(time.Second) // until work that is done once at the start has ended
			began := time.Now()
			before, err := e.spent(b.Context(), running)
			time.Sleep(metric.Either(5*time.Second, time.Second))
			after, failed := e.spent(b.Context(), running)
			seconds := time.Since(began).Seconds()
			v := metric.Values{"redis_ms": metric.Millis(after.redis-before.redis) / seconds, "node_ms": metric.Millis(after.node-before.node) / seconds}
			metric.Report(b, v, errors.Join(err, failed, running.Close()))
		})
	}
}

// bench has an empty Redis.
type bench struct {
	redis *server.Server
	env   contender.Environment
}

func newBench(tb testing.TB, foliot string) *bench {
	tb.Helper()
	if _, err := os.Stat(foliot); err != nil {
		tb.Fatalf("find the binary to measure: %v: run make build", err)
	}
	b := &bench{env: contender.Environment{Foliot: foliot}}
	var err error
	if b.redis, err = server.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = b.redis.Close() })
	fmt.Println("redis:", b.redis.Version(tb.Context()))
	return b
}

// receive starts a server on loopback that replies 200 to each call, and counts
// it. The path of a call is the number of its task, below n.
func receive(n int) (calls *counters.Counters, s *httptest.Server) {
	calls = counters.New(n, n)
	return calls, httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		i, err := strconv.Atoi(strings.TrimPrefix(req.URL.Path, "/"))
		if err != nil || i < 0 || i >= n {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		calls.Fire(i)
	}))
}

func (b *bench) measure(ctx context.Context, info *contender.Info, x load) (metric.Values, error) {
	empty, err := b.redis.Settled(ctx)
	if err != nil {
		return nil, err
	}
	running, err := info.Open(ctx, b.redis.Addr, x.calls, &b.env)
	if err != nil {
		return nil, err
	}
	v := metric.Values{}
	if err := errors.Join(b.work(ctx, running, x, v), running.Close()); err != nil {
		return nil, err
	}
	if !x.calls {
		full, err := b.redis.Settled(ctx)
		v[metric.Bytes] = (full.Memory-empty.Memory)/float64(x.n) - bodySize
		return v, err
	}
	return v, nil
}

// work creates the tasks. If they are due soon, it waits for their calls.
func (b *bench) work(ctx context.Context, running *contender.Running, x load, v metric.Values) error {
	calls, receiver := receive(x.n)
	defer receiver.Close()
	w := &contender.Work{N: x.n, Over: x.over, Size: bodySize, URL: receiver.URL + "/", First: time.Now().Add(time.Hour).Truncate(time.Second)}
	if x.calls {
		w.First = time.Now().Add(lead).Truncate(time.Second)
	}
	before, err := b.spent(ctx, running)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := createAll(ctx, running, w, x); err != nil {
		return err
	}
	if !x.calls {
		v[metric.Rate] = float64(x.n) / time.Since(began).Seconds()
		return nil
	}
	if time.Now().After(w.First) {
		return fmt.Errorf("creating the tasks took %v, and some were due earlier", time.Since(began))
	}
	calls.Wait(time.Until(w.First.Add(w.Over + tail + time.Duration(w.N)*time.Second/500)))
	after, err := b.spent(ctx, running)
	for i := range x.n {
		calls.Expect(i, calls.At(w.Due(i)))
	}
	calls.Judge(v)
	_, _, v[metric.Rate] = calls.Span()
	v["redis_us"], v["node_us"] = metric.Micros(after.redis-before.redis)/float64(x.n), metric.Micros(after.node-before.node)/float64(x.n)
	return err
}

// createAll creates all tasks as fast as the contender can.
func createAll(ctx context.Context, running *contender.Running, w *contender.Work, x load) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var all sync.WaitGroup
	for range x.callers {
		all.Go(func() {
			for ctx.Err() == nil {
				from := int(next.Add(int64(x.each))) - x.each
				if from >= w.N {
					return
				}
				if err := running.Create(ctx, w, from, min(from+x.each, w.N)); err != nil {
					cancel(err)
				}
			}
		})
	}
	all.Wait()
	return context.Cause(ctx)
}

// spent has processor times.
type spent struct{ redis, node time.Duration }

func (b *bench) spent(ctx context.Context, running *contender.Running) (spent, error) {
	u, err := b.redis.Usage(ctx)
	return spent{u.CPU, usage.Process(running.PID)}, err
}

func TestEachContenderDoesTheWork(t *testing.T) {
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
			v, err := newBench(t, foliot).measure(t.Context(), info, load{n: 110, callers: 4, each: min(info.Many, 25)})
			if err != nil || v[metric.Rate] <= 0 || v[metric.Bytes] < 0 {
				t.Errorf("create: %v, %v", v, err)
			}
			v, err = newBench(t, foliot).measure(t.Context(), info, load{n: 100, callers: 4, each: min(info.Many, 25), over: 2 * time.Second, calls: true})
			if err != nil || v[metric.Fired] != 100 || v[metric.Lost]+v[metric.Doubled] != 0 || info.Ours && v[metric.Early] != 0 {
				t.Errorf("calls: %v, %v", v, err)
			}
		})
	}
}
