package redisconn

import "testing"

func TestHowManyReplicasALevelWants(t *testing.T) {
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
		{Default, 0, 0, true, 0}, // its replica is away: it goes on
		{Default, -1, 2, true, 0},
		{Strict, 0, 0, false, 0},
		{Strict, 0, 0, true, 1}, // it does not
		{Strict, 0, 2, true, 2}, // either may be the next master
		{Strict, 1, 2, true, 1}, // as was said
		{Strict, 2, 0, false, 2},
		{Strict, -1, 2, true, 0},
	} {
		if got := c.level.wants(c.expected, c.has, c.had); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}
