package classic

import (
	"math/rand/v2"
	"testing"
)

func TestDialFiresAtTheMillisecondAcrossAllHands(t *testing.T) {
	// The test crosses the end of the 365 days, so every hand completes a turn.
	const start = 365*day - 700
	c := &dial{at: start}
	r := rand.New(rand.NewPCG(1, 2))
	want := map[*Timer]int64{}
	for _, span := range []int64{2, second, minute, 10 * minute} {
		for range 2000 {
			timer := &Timer{when: start + 1 + r.Int64N(span)}
			want[timer] = timer.when
			c.set(timer)
		}
	}
	for c.at < start+10*minute {
		due := c.step()
		for timer := due.first; timer != nil; timer = timer.next {
			if c.at != want[timer] {
				t.Fatalf("due at %d, fired at %d", want[timer], c.at)
			}
			delete(want, timer)
		}
	}
	if len(want) != 0 {
		t.Errorf("%d never fired", len(want))
	}
}
