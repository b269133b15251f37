package idle

import (
	"sync"
	"testing"
	"unsafe"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestATouchCopiesThePresentStep(t *testing.T) {
	var e Entry
	e.TouchRead() // not tracked: nothing happens
	e.TouchWrite()
	var c clock
	e.clock.Store(&c)
	c.now.Store(7)
	e.TouchRead()
	c.now.Store(9)
	e.TouchWrite()
	if r, w := e.read.Load(), e.write.Load(); r != 7 || w != 9 {
		t.Errorf("read %d, write %d", r, w)
	}
	e.clock.Store(nil)
	c.now.Store(10)
	e.TouchRead()
	if r := e.read.Load(); r != 7 {
		t.Errorf("touched at %d after it was no longer tracked", r)
	}
}

func TestTouchesMeetEachOtherAndTheClock(t *testing.T) {
	var e Entry
	var c clock
	e.clock.Store(&c)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 10_000 {
				e.TouchRead()
				e.TouchWrite()
			}
		})
	}
	for step := range uint32(1000) {
		c.now.Store(step)
	}
	wg.Wait()
	e.TouchRead()
	if got := e.read.Load(); got != 999 {
		t.Errorf("read %d", got)
	}
}

func TestAnEntryIsSmallAndTheClockStandsAlone(t *testing.T) {
	if size := unsafe.Sizeof(Entry{}); size > 32 {
		t.Errorf("an Entry takes %d bytes", size)
	}
	if size, at := unsafe.Sizeof(clock{}), unsafe.Offsetof(clock{}.now); size < 128 || at < 64 {
		t.Errorf("the clock takes %d bytes and stands at %d", size, at)
	}
}

func TestATouchDoesNotAllocate(t *testing.T) {
	var e Entry
	e.clock.Store(new(clock))
	if n := testing.AllocsPerRun(1000, e.TouchRead); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkTouch(b *testing.B) {
	var e Entry
	e.clock.Store(new(clock))
	for b.Loop() {
		e.TouchRead()
	}
}

func BenchmarkTouchParallel(b *testing.B) {
	var c clock
	b.SetParallelism(32)
	b.RunParallel(func(pb *testing.PB) {
		var e Entry
		e.clock.Store(&c)
		for pb.Next() {
			e.TouchRead()
		}
	})
}
