package identity

import "testing"

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
