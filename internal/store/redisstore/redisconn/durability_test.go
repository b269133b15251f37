package redisconn

import "testing"

func TestEachDurabilityLevelNeedsItsNumberOfReplicas(t *testing.T) {
	for _, c := range []struct {
		level         Durability
		expected, has int
		had           bool
		want          int
	}{
		{Async, 0, 2, true, 0},
		{Async, 2, 2, true, 0},
		{Default, 0, 0, false, 0},
		{Default, 0, 2, true, 1},
		{Default, 0, 0, true, 0}, // its replica is away: writes go on
		{Default, -1, 2, true, 0},
		{Strict, 0, 0, false, 0},
		{Strict, 0, 0, true, 1}, // writes stop
		{Strict, 0, 2, true, 2}, // each of the two may become the next master
		{Strict, 1, 2, true, 1}, // the number in the configuration counts
		{Strict, 2, 0, false, 2},
		{Strict, -1, 2, true, 0},
	} {
		if got := c.level.wants(c.expected, c.has, c.had); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}
