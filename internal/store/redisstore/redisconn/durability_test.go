package redisconn

import "testing"

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
