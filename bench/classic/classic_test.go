package classic

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// timers is the common interface of the four designs.
type timers[H any] interface {
	Add(d time.Duration, f func()) H
	Remove(t H) bool
	Reset(t H, d time.Duration) bool
	Len() int
	Close()
}

// promise has the limits of a design's firing times, not counting the time that
// the scheduler takes.
type promise struct {
	early time.Duration // each timer is early by less than this, or not at all
	late  time.Duration // no timer is late by more than this
}

func TestHeap(t *testing.T) { suite(t, NewHeap, promise{}) }

func TestRounds(t *testing.T) {
	suite(t, func() *Rounds { return NewRounds(time.Millisecond, 64) }, promise{late: time.Millisecond})
}

func TestHands(t *testing.T) { suite(t, NewHands, promise{late: time.Millisecond}) }

func TestBuckets(t *testing.T) {
	suite(t, func() *Buckets { return NewBuckets(time.Millisecond) }, promise{early: time.Millisecond})
}

func suite[H any, T timers[H]](t *testing.T, open func() T, p promise) {
	t.Run("FiresOnceAndInTime", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { firesOnceAndInTime(t, open(), p) })
	})
	t.Run("EachEndsOnceUnderContention", func(t *testing.T) { eachEndsOnce(t, open()) })
}

// check fails the test unless the present time keeps the promise for a
// deadline.
func (p promise) check(t *testing.T, d time.Duration, due time.Time) {
	t.Helper()
	if off := time.Since(due); off < -p.early || off == -p.early && p.early > 0 || off > p.late {
		t.Errorf("a timer of %v fired %v after its deadline", d, off)
	}
}

func firesOnceAndInTime[H any, T timers[H]](t *testing.T, ts T, p promise) {
	defer ts.Close()
	r := rand.New(rand.NewPCG(1, 2))
	var fired atomic.Int64
	const n = 3000
	for i := range n {
		// Delays of 1 µs to 33 s cover every unit of every ring, with as many
		// short ones as long ones.
		d := time.Microsecond << (i % 25)
		d += time.Duration(r.Int64N(int64(d)))
		due := time.Now().Add(d)
		ts.Add(d, func() {
			fired.Add(1)
			p.check(t, d, due)
		})
		time.Sleep(time.Duration(r.Int64N(int64(time.Millisecond)))) // each timer has another phase of the tick
	}
	time.Sleep(time.Minute)
	synctest.Wait()
	if fired.Load() != n || ts.Len() != 0 {
		t.Errorf("%d of %d fired, %d are left", fired.Load(), n, ts.Len())
	}
}

// eachEndsOnce runs in real time. Many goroutines add, move and remove timers.
// Each timer must either fire or be removed.
func eachEndsOnce[H any, T timers[H]](t *testing.T, ts T) {
	const workers, each = 8, 2000
	var ended [workers * each]atomic.Int32
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(5, uint64(w)))
			short := func() time.Duration { return time.Duration(r.Int64N(int64(5 * time.Millisecond))) }
			for i := range each {
				end := &ended[w*each+i]
				h := ts.Add(short(), func() { end.Add(1) })
				if i%2 == 0 {
					ts.Reset(h, short())
				}
				if i%3 == 0 && ts.Remove(h) {
					end.Add(1)
				}
			}
		})
	}
	wg.Wait()
	deadline := time.After(20 * time.Second)
	for ts.Len() > 0 {
		select {
		case <-deadline:
			t.Fatalf("%d timers never end", ts.Len())
		case <-time.After(time.Millisecond):
		}
	}
	ts.Close() // waits for the last callback
	for i := range ended {
		if n := ended[i].Load(); n != 1 {
			t.Fatalf("timer %d ended %d times", i, n)
		}
	}
}
