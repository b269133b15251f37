package load

import (
	"slices"
	"testing"
	"time"

	"github.com/foliot/foliot/bench/idle/client"
)

func TestEveryPeerIsInOneProcessAndTheFrozenOnesAreAlone(t *testing.T) {
	for _, n := range []int{50, 99, 1000, 19_703} {
		shape := Quick(n)
		var all [client.Kinds]int
		next := 1
		configs := shape.clients([]string{"here"})
		for i, c := range configs {
			if c.First != next {
				t.Errorf("n = %d: process %d begins with %d, want %d", n, i, c.First, next)
			}
			for kind, count := range c.Counts {
				all[kind] += count
				next += count
				if frozen := kind == int(client.Frozen); count > 0 && frozen != (i == len(configs)-1) {
					t.Errorf("n = %d: process %d has %d peers, %v", n, i, count, client.Kind(kind))
				}
			}
		}
		if all != shape.Counts() || next != n+1 {
			t.Errorf("n = %d: %v in processes, want %v", n, all, shape.Counts())
		}
		if slices.Contains(all[:], 0) {
			t.Errorf("n = %d: a kind is missing in %v", n, all)
		}
	}
}

func TestPeersThatLiveTalkWithinTheTimeout(t *testing.T) {
	full, err := Full()
	if err != nil {
		t.Skip(err)
	}
	for _, s := range []Shape{full, Quick(50)} {
		if s.Drip >= s.Timeout-100*time.Millisecond || s.Drip < s.Timeout*3/4 {
			t.Errorf("a drip every %v, timeout %v", s.Drip, s.Timeout)
		}
		if s.Every > s.Timeout/2 {
			t.Errorf("a line every %v, timeout %v", s.Every, s.Timeout)
		}
	}
}
