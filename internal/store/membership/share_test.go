package membership

import (
	"fmt"
	"reflect"
	"testing"
	"time"
)

func TestAJoiningOrLeavingNodeMovesLittleMoreThanItsShare(t *testing.T) {
	seeds := 20
	if testing.Short() {
		seeds = 5
	}
	for n := 2; n <= 7; n++ {
		for seed := range seeds {
			more := seeded(seed, n)
			moved, shares := 0, 0
			for left := range more {
				fewer := append(append([]string(nil), more[:left]...), more[left+1:]...)
				before, after := allot(more, 256), allot(fewer, 256)
				for i := range before {
					switch {
					case before[i] == more[left]:
						shares++
					case before[i] != after[i]:
						moved++
					}
				}
			}
			if moved > shares*2/5 {
				t.Errorf("%d nodes, names %d: with %d shards of those that left %d of others changed hands", n, seed, shares, moved)
			}
		}
	}
}

func TestSharesDifferByAtMostOneShard(t *testing.T) {
	for _, shards := range []int{1, 32, 256} {
		for n := 1; n <= 40; n++ {
			shares := map[string]int{}
			for _, node := range allot(seeded(n, n), shards) {
				shares[node]++
			}
			for node, share := range shares {
				if share < shards/n || share > (shards+n-1)/n {
					t.Errorf("of %d nodes %s has %d of %d shards", n, node, share, shards)
				}
			}
		}
	}
}

// seeded returns the names of n nodes.
func seeded(seed, n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("node-%d-%d", seed, i)
	}
	return names
}

func TestASilentNodeIsNotLive(t *testing.T) {
	peers := []Peer{{Name: "a", Beat: 10_000}, {Name: "b", Beat: 6999}, {Name: "c", Beat: 7000}, {Name: "d", Beat: 10_500}} // d: the clock was set back
	if live := takers(livePeers(peers, 10_000, 3*time.Second)); !reflect.DeepEqual(live, []string{"a", "c", "d"}) {
		t.Error(live)
	}
}

func TestAShardIsTakenKeptOrReleased(t *testing.T) {
	start := time.Unix(1_800_000_000, 0)
	at := func(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
	p := pace{renew: 2 * time.Second, retry: time.Second}
	held := claimState{held: true, since: at(0), until: at(6000)}
	others := claimState{since: at(0), until: at(6000)}
	for _, c := range []struct {
		name  string
		now   int
		mine  bool
		state claimState
		eager bool
		want  plan
	}{
		{"one that nobody is known to own is acquired", 0, true, claimState{}, false, plan{acquire: []int{0}}},
		{"one that nobody wants of us is left alone", 0, false, claimState{}, false, plan{}},
		{"one that we hold is renewed in time", 1999, true, held, false, plan{next: at(2000)}},
		{"and then", 2000, true, held, false, plan{renew: []int{0}}},
		{"one that another is to have is released", 10, false, held, false, plan{release: []int{0}}},
		{"and not renewed first", 2000, false, held, false, plan{release: []int{0}}},
		{"one of another is asked for now and then", 500, true, others, false, plan{next: at(1000)}},
		{"and then", 1000, true, others, false, plan{acquire: []int{0}}},
		{"at once where something has changed", 500, true, others, true, plan{acquire: []int{0}}},
		{"when its lease ends, to the moment", 500, true, claimState{since: at(0), until: at(700)}, false, plan{next: at(700)}},
		{"and then", 700, true, claimState{since: at(0), until: at(700)}, false, plan{acquire: []int{0}}},
		{"one that we may have and another is to have is released", 1000, false, claimState{since: at(0), listed: true}, false, plan{release: []int{0}}},
		{"and again if that failed, after a while", 500, false, claimState{since: at(0), until: at(1000), listed: true}, true, plan{next: at(1000)}},
		{"one of another that is to stay there is left alone", 1000, false, others, true, plan{}},
	} {
		if got := planFor(at(c.now), []bool{c.mine}, []claimState{c.state}, p, c.eager); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}
