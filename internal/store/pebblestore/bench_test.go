package pebblestore

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/tasktest"
)

// The benchmarks use the disk with the system's temporary directory: most of
// the time they measure its fsync.

const benchStart task.Millis = 1_800_000_000_000

func newSpec(name string, due task.Millis) task.Spec {
	return tasktest.Spec(name, due, tasktest.Text(`{"order": 42, "note": "a body of some size, as they are"}`), func(s *task.Spec) { s.ID, s.Request.BodyKind = name, task.JSONBody })
}

func newName(i int64) string {
	return fmt.Sprintf("018f%08x-7d1c-7000-8000-%012x", i/1000, i*0x9E3779B9&0xffffffffffff)
}

func creates(first int64, n int, due func(i int64) task.Millis) []task.Change {
	changes := make([]task.Change, n)
	for i := range changes {
		id := first + int64(i)
		changes[i] = task.Create{Spec: newSpec(newName(id), due(id))}
	}
	return changes
}

func openDisk(b testing.TB, dir string) *Store {
	b.Helper()
	s, err := Open(dir, Config{})
	fatal.If(b, err)
	b.Cleanup(func() { _ = s.Close() })
	return s
}

// mustApply applies changes. All of them must succeed.
func mustApply(b testing.TB, s *Store, changes []task.Change) {
	b.Helper()
	replies, err := s.Transit(context.Background(), benchStart, store.Changes(changes))
	fatal.If(b, err)
	for _, r := range replies {
		fatal.If(b, r.Err)
	}
}

func later(id int64) task.Millis { return benchStart + task.Millis(id%86_400_000) }

// BenchmarkCreateSingle: 64 clients, one durable create at a time each.
func BenchmarkCreateSingle(b *testing.B) {
	s := openDisk(b, b.TempDir())
	var next atomic.Int64
	var clients sync.WaitGroup
	b.ReportAllocs()
	b.ResetTimer()
	for range 64 {
		clients.Go(func() {
			for {
				id := next.Add(1)
				if id > int64(b.N) {
					return
				}
				mustApply(b, s, creates(id, 1, later))
			}
		})
	}
	clients.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "creates/s")
}

// BenchmarkCreateBatch: 4 clients, 1000 creates at a time each.
func BenchmarkCreateBatch(b *testing.B) {
	s := openDisk(b, b.TempDir())
	var next atomic.Int64
	var clients sync.WaitGroup
	b.ReportAllocs()
	b.ResetTimer()
	for range 4 {
		clients.Go(func() {
			for {
				n := next.Add(1)
				if n > int64(b.N) {
					return
				}
				mustApply(b, s, creates(n*1000, 1000, later))
			}
		})
	}
	clients.Wait()
	b.ReportMetric(float64(b.N)*1000/b.Elapsed().Seconds(), "creates/s")
}

// BenchmarkDeliver: peek, claim and settle, 256 tasks at a time.
func BenchmarkDeliver(b *testing.B) {
	s := openDisk(b, b.TempDir())
	due := func(id int64) task.Millis { return benchStart - 1_000_000 + task.Millis(id) }
	const step = 256
	for first := int64(0); first < int64(b.N)*step; first += step {
		mustApply(b, s, creates(first, step, due))
	}
	b.ReportAllocs()
	b.ResetTimer()
	delivered := 0
	for delivered < b.N*step {
		delivered += deliver(b, s, step)
	}
	b.ReportMetric(float64(delivered)/b.Elapsed().Seconds(), "deliveries/s")
}

// deliver delivers at most n of the tasks that are due at benchStart, and
// returns their number.
func deliver(b testing.TB, s *Store, n int) int {
	b.Helper()
	ctx := context.Background()
	heads, err := store.LaneHeads(ctx, s, benchStart)
	fatal.If(b, err)
	if len(heads) == 0 {
		return 0
	}
	found, err := s.Peek(ctx, []store.LaneRead{{Lane: heads[0].Lane, Until: benchStart, Limit: n}})
	fatal.If(b, err)
	claims := make([]task.Claim, len(found[0]))
	settlements := make([]task.Settlement, len(claims))
	for i, e := range found[0] {
		token := task.Token(e.Name)
		claims[i] = task.Claim{Key: e.Key(), Lane: e.Lane, Token: token, Until: benchStart + 1000}
		settlements[i] = task.Settlement{Key: e.Key(), Token: token, Outcome: task.Outcome{Verdict: task.Success, Status: 200, StartedAt: benchStart}}
	}
	replies, err := s.Transit(ctx, benchStart, store.Claims(claims))
	mustReplies(b, replies, err)
	replies, err = s.Transit(ctx, benchStart, store.Settlements(settlements))
	mustReplies(b, replies, err)
	return len(claims)
}

func mustReplies(b testing.TB, replies []store.Reply, err error) {
	b.Helper()
	fatal.If(b, err)
	for _, r := range replies {
		fatal.If(b, r.Err)
	}
}

// BenchmarkClaimLatency: one claim while clients create tasks as fast as they
// can.
func BenchmarkClaimLatency(b *testing.B) {
	s := openDisk(b, b.TempDir())
	due := func(int64) task.Millis { return benchStart }
	for first := int64(0); first < int64(b.N); first += 1000 {
		mustApply(b, s, creates(first, 1000, due))
	}
	stop, clients := make(chan struct{}), sync.WaitGroup{}
	clients.Go(func() {
		for first := int64(1 << 32); ; first += 1000 {
			select {
			case <-stop:
				return
			default:
				mustApply(b, s, creates(first, 1000, later))
			}
		}
	})
	lane := newSpec("x", 0)
	t := task.Task{Namespace: lane.Namespace, Queue: lane.Queue, Priority: lane.Priority, Request: lane.Request}
	var worst time.Duration
	b.ResetTimer()
	for i := range b.N {
		began := time.Now()
		replies, err := s.Transit(context.Background(), benchStart, store.Claims([]task.Claim{{
			Key: task.Key{Namespace: t.Namespace, Name: newName(int64(i))}, Lane: t.Lane(), Token: "t", Until: benchStart + 1000,
		}}))
		mustReplies(b, replies, err)
		worst = max(worst, time.Since(began))
	}
	b.StopTimer()
	close(stop)
	clients.Wait()
	b.ReportMetric(float64(worst.Microseconds()), "worst-µs")
}

// BenchmarkAfterACrash: a task is created, claimed and settled. There are also
// a paused queue with one task that is overdue since the crash, and 100,000
// lanes.
func BenchmarkAfterACrash(b *testing.B) {
	for _, lanes := range []int{1, 100_000} {
		b.Run(fmt.Sprint(lanes, " lanes"), func(b *testing.B) {
			s := openCrashed(b, lanes)
			var id int64
			for b.Loop() {
				id++
				spec := newSpec(newName(1<<32+id), benchStart+1)
				mustApply(b, s, []task.Change{task.Create{Spec: spec}})
				t := taskOf(spec)
				replies, err := s.Transit(context.Background(), benchStart+1, store.Claims([]task.Claim{tasktest.Claim(t, "t", benchStart+1000)}))
				mustReplies(b, replies, err)
				replies, err = s.Transit(context.Background(), benchStart+1, store.Settlements([]task.Settlement{{Key: t.Key(), Token: "t", Outcome: task.Outcome{Verdict: task.Success}}}))
				mustReplies(b, replies, err)
			}
		})
	}
}

func openCrashed(b *testing.B, lanes int) *Store {
	b.Helper()
	disk := vfs.NewCrashableMem()
	first := open(b, disk, Config{Now: clock})
	for from := 0; from < lanes; from += 1000 {
		changes := creates(int64(from), min(1000, lanes), func(int64) task.Millis { return benchStart + 1_000_000 })
		for i, c := range changes {
			create := c.(task.Create)
			create.Spec.Queue = fmt.Sprint("q", from+i)
			changes[i] = create
		}
		mustApply(b, first, changes)
	}
	overdue := newSpec("overdue", benchStart)
	overdue.Queue = "paused"
	mustApply(b, first, []task.Change{task.Create{Spec: overdue}})
	return open(b, powerOff(disk), Config{Now: clock})
}

// BenchmarkPeekAfterDeletes: the head of a lane after 1,000,000 of its entries
// were delivered.
func BenchmarkPeekAfterDeletes(b *testing.B) {
	fs := vfs.NewMem()
	s, err := Open("data", Config{FS: fs})
	fatal.If(b, err)
	defer func() { _ = s.Close() }()
	const n = 1_000_000
	due := func(id int64) task.Millis { return benchStart - n - 1 + task.Millis(id) }
	for first := int64(0); first < n; first += 1000 {
		mustApply(b, s, creates(first, 1000, due))
	}
	mustApply(b, s, creates(n+1, 100, later))
	for deliver(b, s, 1000) > 0 {
	}
	mustApply(b, s, creates(n+200, 1, func(int64) task.Millis { return benchStart }))
	lane := newSpec("x", 0)
	t := task.Task{Namespace: lane.Namespace, Queue: lane.Queue, Priority: lane.Priority, Request: lane.Request}
	b.ReportAllocs()
	for b.Loop() {
		found, err := s.Peek(context.Background(), []store.LaneRead{{Lane: t.Lane(), Until: benchStart, Limit: 100}})
		if err != nil || len(found[0]) != 1 {
			b.Fatal(len(found[0]), err)
		}
	}
}
