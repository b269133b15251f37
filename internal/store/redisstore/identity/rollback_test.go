package identity

import (
	"testing"
	"time"
)

func TestARollbackIsDistinguishedFromAFailover(t *testing.T) {
	for name, c := range map[string]struct {
		beats []int64 // the counts of the store, one after the other
		nodes int
		want  int64
	}{
		"a start":                {[]int64{1000}, 3, 0},
		"heartbeats":             {[]int64{1000, 1003, 1006}, 3, 0},
		"a failover":             {[]int64{1000, 994}, 3, 0},
		"an older copy":          {[]int64{1000, 910}, 3, 30},
		"a node that is alone":   {[]int64{1000, 990}, 0, 10},
		"it is said once":        {[]int64{1000, 900, 903}, 3, 0},
		"a node of many at once": {[]int64{1000, 1000 - 10*50 + 1}, 50, 0},
	} {
		var r rollback
		for _, n := range c.beats {
			r.missing = 0
			r.compare(n, c.nodes)
		}
		if r.missing != c.want {
			t.Errorf("%s: %d, not %d", name, r.missing, c.want)
		}
	}
}

// A node compares its own changes when it can write again, and the heartbeats a little
// later.
func TestTwoSignsOfOneRollbackAreReportedOnce(t *testing.T) {
	var r rollback
	now := time.Now()
	for i, look := range []struct {
		after   time.Duration
		changes int64
		missing int64
		news    bool
	}{{0, 58, 0, true}, {time.Second, 0, 20, false}, {2 * time.Second, 3, 0, true}, {time.Minute, 0, 20, true}, {2 * time.Minute, 0, 0, false}} {
		r.missing = look.missing
		if by, news := r.note(now.Add(look.after), look.changes); news != look.news || news && by != look.missing {
			t.Errorf("look %d: %d, %v", i, by, news)
		}
	}
}
