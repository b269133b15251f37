package idle

import (
	"testing"

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

func TestADelayedTouchDoesNotUndoALaterOne(t *testing.T) {
	for _, c := range []struct{ old, step, want uint32 }{
		{5, 7, 7}, {7, 5, 7}, {7, 7, 7}, {1<<32 - 1, 0, 0}, {0, 1<<32 - 1, 0},
	} {
		var e Entry
		e.read.Store(c.old)
		raise(&e.read, c.step)
		if got := e.read.Load(); got != c.want {
			t.Errorf("%d raised to %d: %d", c.old, c.step, got)
		}
	}
}

func TestAConnectionMayBeInManyWritesAndIsNotBusy(t *testing.T) {
	var u use
	for range 1 << 20 { // the limit of package net
		u.begin()
	}
	if u.isBusy() || !u.isRunning() {
		t.Error("busy by Writes")
	}
	u.beginBusy()
	if !u.requestNotice() || !u.isBusy() {
		t.Error("not busy by a request")
	}
	for range 1 << 20 {
		u.end()
	}
	if u.isRunning() || !u.endBusy() || u.isBusy() || u.requestNotice() {
		t.Error("not at its end")
	}
}
