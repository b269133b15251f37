package wheel

import (
	"fmt"
	"sync"
	"testing"
	"time"
)

const elements = 100_000

// fullQueue returns a queue with elements that are not due during the
// benchmark.
func fullQueue() (*DelayQueue[int], []ID) {
	q, ids, r := NewDelayQueue[int](), make([]ID, elements), newRand()
	for i := range ids {
		ids[i] = q.Put(someDelay(r), i)
	}
	return q, ids
}

func BenchmarkDelayQueueRemovePut(b *testing.B) {
	q, ids := fullQueue()
	r := newRand()
	b.ReportAllocs()
	defer reportCPU(b)()
	for b.Loop() {
		i := r.IntN(elements)
		q.Remove(ids[i])
		ids[i] = q.Put(someDelay(r), i)
	}
}

// Elements are due when they are put, or each after a pause, so that each wakes a
// taker.
func BenchmarkDelayQueueTake(b *testing.B) {
	for name, pause := range map[string]time.Duration{"due": 0, "pauses": 2 * time.Millisecond} {
		for _, takers := range []int{1, 4} {
			b.Run(fmt.Sprintf("%s/takers=%d", name, takers), func(b *testing.B) {
				q, _ := fullQueue()
				b.ResetTimer()
				defer reportCPU(b)()
				var all sync.WaitGroup
				for k := range takers {
					all.Go(func() {
						for range (b.N + k) / takers {
							_, _ = q.Take(b.Context())
						}
					})
				}
				for i := range b.N {
					q.Put(time.Duration(i)*pause, i)
				}
				all.Wait()
			})
		}
	}
}
