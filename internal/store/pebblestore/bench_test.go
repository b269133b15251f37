package pebblestore

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

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
