package pgstore

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/servertest/pgtest"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/tasktest"
)

// alone opens the only node of a store that syncs its disk.
func alone(b *testing.B) *Store {
	b.Helper()
	server := pgtest.New(b)
	fatal.If(b, Migrate(context.Background(), server.URL()))
	s, err := Open(context.Background(), Config{URL: server.URL()})
	fatal.If(b, err)
	b.Cleanup(func() { fatal.If(b, s.Close()) })
	redistest.Until(b, "the node owns all shards", func() bool { return len(s.member.Owned()) == s.shards })
	return s
}

// BenchmarkCreate: callers create batches at the same time.
func BenchmarkCreate(b *testing.B) {
	s := alone(b)
	var made atomic.Int64
	for _, size := range []int{1, 10, 200, 1000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			var left atomic.Int64
			left.Store(int64(b.N))
			var all sync.WaitGroup
			for range min(64, 4000/size) {
				all.Go(func() {
					for left.Add(-1) >= 0 {
						changes := make([]task.Change, size)
						now := task.CeilMillis(s.Latest())
						for i := range changes {
							changes[i] = task.Create{Spec: tasktest.Spec(fmt.Sprint("task-", made.Add(1)), now+86_400_000)}
						}
						replies, err := s.Transit(context.Background(), now, store.Changes(changes))
						fatal.If(b, err)
						fatal.If(b, replies[size-1].Err)
					}
				})
			}
			all.Wait()
			b.ReportMetric(float64(b.N*size)/b.Elapsed().Seconds(), "tasks/s")
		})
	}
}

// due creates tasks that are due now.
func due(ctx context.Context, b *testing.B, s *Store, batch, size int) {
	b.Helper()
	changes := make([]task.Change, size)
	now := task.CeilMillis(s.Latest())
	for i := range changes {
		changes[i] = task.Create{Spec: tasktest.Spec(fmt.Sprint("task-", batch, "-", i), now)}
	}
	_, err := s.Transit(ctx, now, store.Changes(changes))
	fatal.If(b, err)
}

// claim claims at most size due tasks of each lane.
func claim(ctx context.Context, b *testing.B, s *Store, now task.Millis, size int) (claims []task.Claim) {
	b.Helper()
	heads, err := store.LaneHeads(ctx, s, now)
	fatal.If(b, err)
	for _, h := range heads {
		found, err := s.Peek(ctx, []store.LaneRead{{Lane: h.Lane, Until: now, Limit: size}})
		fatal.If(b, err)
		for _, e := range found[0] {
			claims = append(claims, task.Claim{Key: e.Key(), Lane: e.Lane, Token: task.Token(e.Name), Until: now + 30_000})
		}
	}
	transit(ctx, b, s, now, store.Claims(claims))
	return claims
}

func transit(ctx context.Context, b *testing.B, s *Store, now task.Millis, steps []store.Step) {
	b.Helper()
	replies, err := s.Transit(ctx, now, steps)
	fatal.If(b, err)
	for _, r := range replies {
		fatal.If(b, r.Err)
	}
}

// BenchmarkDeliver: one caller claims and settles batches of due tasks.
func BenchmarkDeliver(b *testing.B) {
	s := alone(b)
	const size = 200
	ctx := context.Background()
	for n := range b.N {
		due(ctx, b, s, n, size)
	}
	b.ResetTimer()
	done := 0
	for done < b.N*size {
		now := task.FloorMillis(s.Now())
		var ends []task.Settlement
		for _, c := range claim(ctx, b, s, now, size) {
			ends = append(ends, task.Settlement{Key: c.Key, Token: c.Token, Outcome: task.Outcome{Verdict: task.Success}})
		}
		transit(ctx, b, s, now, store.Settlements(ends))
		done += len(ends)
	}
	b.ReportMetric(float64(done)/b.Elapsed().Seconds(), "deliveries/s")
}

// BenchmarkExtend: the leases of 1,000 running tasks, by one call.
func BenchmarkExtend(b *testing.B) {
	s := alone(b)
	const size = 1000
	ctx := context.Background()
	due(ctx, b, s, 0, size)
	now := task.FloorMillis(s.Now())
	var extensions []task.Extension
	for _, c := range claim(ctx, b, s, now, size) {
		extensions = append(extensions, task.Extension{Key: c.Key, Token: c.Token, Until: c.Until})
	}
	for b.Loop() {
		transit(ctx, b, s, now, store.Extensions(extensions))
	}
}
