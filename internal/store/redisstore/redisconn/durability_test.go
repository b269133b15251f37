package redisconn

import (
	"testing"
)

func TestEachDurabilityLevelNeedsItsNumberOfReplicas(t *testing.T) {
	for _, c := range []struct {
		level Durability
		has   int
		had   bool
		want  int
	}{
		{Async, 2, true, 0},
		{Default, 0, false, 0},
		{Default, 2, true, 1},
		{Default, 0, true, 0}, // its replica is away: writes go on
		{Strict, 0, false, 0},
		{Strict, 0, true, 1}, // writes stop
		{Strict, 2, true, 2}, // each of the two may become the next master
	} {
		if got := c.level.wants(c.has, c.had); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}

// Two calls are under way while the server loses the end of its file. The reply
// of the second one arrives after the loss was logged.
func TestALossIsCountedOnceAlthoughSeveralCallsFindIt(t *testing.T) {
	c := newCounters()
	c.See("k", c.Base("k"), 0, 120)
	first, second := c.Base("k"), c.Base("k")
	c.See("k", first, 90, 1)
	if lost := c.Lost(); lost != 30 {
		t.Fatalf("%d changes are lost, want 30", lost)
	}
	c.See("k", second, 91, 1)
	if c.Missing() {
		t.Errorf("the second reply counts %d changes again", c.Lost())
	}
	c.See("k", c.Base("k"), 92, 8)
	c.See("k", c.Base("k"), 98, 0)
	if lost := c.Lost(); lost != 2 {
		t.Errorf("a second loss has %d changes, want 2", lost)
	}
}
