package wheel

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"
)

// Each benchmark runs all queues. On a busy machine, compare the CPU times:
//
//	go test -run '^$' -bench 'DelayQueue(Churn|Put|Burst)' -benchtime 100000x ./wheel
//	go test -run '^$' -bench 'DelayQueue(WakeUp|Memory)' -benchtime 500x ./wheel

const elements = 100_000

// eachQueue calls f with a queue that has elements which are not due during the
// benchmark.
func eachQueue(b *testing.B, f func(b *testing.B, q rivalQueue, tickets []ticket)) {
	for _, c := range rivalQueues {
		b.Run(c.name, func(b *testing.B) {
			q := c.open()
			tickets, r := make([]ticket, elements), newRand()
			for i := range tickets {
				tickets[i] = q.put(someDelay(r), i)
			}
			f(b, q, tickets)
		})
	}
}

// Elements are removed before they are due.
func BenchmarkDelayQueueChurn(b *testing.B) {
	eachQueue(b, func(b *testing.B, q rivalQueue, tickets []ticket) {
		r := newRand()
		b.ResetTimer()
		defer reportCPU(b)()
		for range b.N {
			i := r.IntN(elements)
			if !q.remove(tickets[i]) {
				b.Fatal("the element is not in the queue")
			}
			tickets[i] = q.put(someDelay(r), i)
		}
	})
}

// Elements are due when they are put.
func BenchmarkDelayQueuePutTake(b *testing.B) {
	for _, takers := range []int{1, 4} {
		b.Run(fmt.Sprintf("takers=%d", takers), func(b *testing.B) {
			eachQueue(b, func(b *testing.B, q rivalQueue, _ []ticket) {
				b.ResetTimer()
				defer reportCPU(b)()
				taken := takeAll(q, takers, b.N)
				for i := range b.N {
					q.put(0, i)
				}
				taken.Wait()
			})
		})
	}
}

// All elements are due at the same time.
func BenchmarkDelayQueueBurst(b *testing.B) {
	eachQueue(b, func(b *testing.B, q rivalQueue, _ []ticket) {
		due := time.Now().Add(2 * time.Second)
		for i := range b.N {
			q.put(time.Until(due), i)
		}
		time.Sleep(time.Until(due))
		b.ResetTimer()
		defer reportCPU(b)()
		takeAll(q, 1, b.N).Wait()
	})
}

// One element is due every 2 ms, so each wakes a taker.
func BenchmarkDelayQueueWakeUp(b *testing.B) {
	for _, takers := range []int{1, 4} {
		b.Run(fmt.Sprintf("takers=%d", takers), func(b *testing.B) {
			eachQueue(b, func(b *testing.B, q rivalQueue, _ []ticket) {
				for i := range b.N {
					q.put(time.Duration(i)*2*time.Millisecond, i)
				}
				b.ResetTimer()
				defer reportCPU(b)()
				takeAll(q, takers, b.N).Wait()
			})
		})
	}
}

func BenchmarkDelayQueueMemory(b *testing.B) {
	for _, c := range rivalQueues {
		b.Run(c.name, func(b *testing.B) {
			q := c.open()
			before, r := heapInUse(), newRand()
			const n = 1_000_000
			for i := range n {
				q.put(someDelay(r), i)
			}
			b.ReportMetric(float64(heapInUse()-before)/n, "B/element")
		})
	}
}

func takeAll(q rivalQueue, takers, n int) *sync.WaitGroup {
	var all sync.WaitGroup
	for k := range takers {
		all.Go(func() {
			for range (n + k) / takers {
				_, _ = q.take(context.Background())
			}
		})
	}
	return &all
}
