package membership

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot/foliot/internal/task"
)

var silent = slog.New(slog.DiscardHandler)

// No two nodes act as the owner of a shard at one instant, while nodes join, leave
// and stand still, replies are late, the network is cut and the registry's clock is
// set. After the last fault each shard has an owner again.
func TestAtMostOneNodeActsAsTheOwnerOfAShard(t *testing.T) {
	first, seeds := 0, 600
	if testing.Short() {
		first, seeds = 102, 4
	}
	for seed := first; seed < first+seeds; seed++ {
		for _, renews := range []bool{false, true} {
			t.Run(fmt.Sprint(seed, renews), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { faults(t, rand.New(rand.NewPCG(uint64(seed), 1)), renews) })
			})
		}
	}
}

func faults(t *testing.T, r *rand.Rand, renews bool) {
	const shards = 64
	m := newMemory(shards)
	m.renews = renews
	var nodes, frozen, cut, barred []*node
	add := func() { nodes = append(nodes, start(m, fmt.Sprint("node-", len(nodes)))) }
	for range 5 {
		add()
	}
	check := func(d time.Duration) {
		for range d / (20 * time.Millisecond) {
			time.Sleep(20 * time.Millisecond)
			if _, most := extremes(owners(nodes, shards)); most > 1 {
				t.Fatalf("%d nodes act as the owner of one shard", most)
			}
		}
	}
	pick := func(from []*node) int { return r.IntN(len(from)) }
	for range 60 {
		check(time.Duration(r.IntN(3000)) * time.Millisecond)
		switch k := r.IntN(12); {
		case k == 0 && len(nodes) < 12:
			add()
		case k == 1 && len(nodes) > 3:
			i := pick(nodes)
			if n := nodes[i]; !slices.Contains(frozen, n) && !slices.Contains(cut, n) {
				n.Release()
				nodes = slices.Delete(nodes, i, i+1)
			}
		case k == 2 && len(frozen) < 2:
			if n := nodes[pick(nodes)]; !slices.Contains(frozen, n) {
				n.link.freeze()
				frozen = append(frozen, n)
			}
		case k == 3 && len(frozen) > 0:
			frozen[0].link.thaw()
			frozen = frozen[1:]
		case k == 4 && len(cut) < 2:
			n := nodes[pick(nodes)]
			n.link.setCut(true)
			cut = append(cut, n)
		case k == 5 && len(cut) > 0:
			cut[0].link.setCut(false)
			cut = cut[1:]
		case k == 6:
			m.step(time.Duration(r.IntN(int(lease / 12)))) // the tolerated step
			check(lease)                                   // the next one comes after the leases from before
		case k == 8:
			n := nodes[pick(nodes)]
			n.link.mu.Lock()
			n.link.slow = time.Duration(r.IntN(900)) * time.Millisecond
			n.link.mu.Unlock()
		case k == 7:
			m.step(-time.Duration(r.IntN(int(2 * lease))))
		case k == 9 && r.IntN(2) == 0:
			m.crash()
		case k == 9 && renews:
			m.rollback()
			time.Sleep(2 * lease) // until then two nodes may act
			m.copies()
		case k == 10 && len(barred) < 2:
			n := nodes[pick(nodes)]
			n.link.setBarred(true)
			barred = append(barred, n)
		case k == 11 && len(barred) > 0:
			barred[0].link.setBarred(false)
			barred = barred[1:]
		}
	}
	for _, n := range frozen {
		n.link.thaw()
	}
	for _, n := range cut {
		n.link.setCut(false)
	}
	for _, n := range barred {
		n.link.setBarred(false)
	}
	check(6 * lease) // the registry's clock may have been set back by two leases, again and again
	if least, most := extremes(owners(nodes, shards)); least != 1 || most != 1 {
		t.Errorf("%d to %d owners", least, most)
	}
	releaseAll(nodes)
}

// A hundred nodes share 4,096 shards evenly. If a tenth of them dies, the others own all
// shards a lease and a heartbeat later.
func TestAHundredNodesShareFourThousandShards(t *testing.T) {
	shards, count := 4096, 100
	if testing.Short() {
		shards, count = 1024, 30
	}
	synctest.Test(t, func(t *testing.T) {
		m := newMemory(shards)
		var nodes []*node
		for i := range count {
			nodes = append(nodes, start(m, fmt.Sprint("node-", i)))
		}
		time.Sleep(3 * heartbeat)
		if least, most := extremes(owners(nodes, shards)); least != 1 || most != 1 {
			t.Fatalf("at the start %d to %d owners", least, most)
		}
		for _, n := range nodes {
			if own := len(n.Owned()); own < shards/count || own > shards/count+1 {
				t.Errorf("%s owns %d", n.self.Name, own)
			}
		}
		dead := nodes[:count/10]
		for _, n := range dead {
			n.link.freeze()
		}
		time.Sleep(lease + heartbeat)
		if least, most := extremes(owners(nodes, shards)); least != 1 || most != 1 {
			t.Errorf("after the deaths %d to %d owners", least, most)
		}
		for _, n := range dead {
			n.link.thaw()
		}
		releaseAll(nodes)
	})
}

// A node that sends heartbeats and cannot reach the server of the shards keeps none
// of them from the others for more than four leases.
func TestShardsThatTheirNodeCannotReachAreAdopted(t *testing.T) {
	for _, count := range []int{2, 3, 10, 30} {
		t.Run(fmt.Sprint(count), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				const shards = 128
				m := newMemory(shards)
				var nodes []*node
				for i := range count {
					nodes = append(nodes, start(m, fmt.Sprint("node-", i)))
				}
				time.Sleep(3 * lease)
				nodes[0].link.mu.Lock()
				nodes[0].link.barred = true
				nodes[0].link.mu.Unlock()
				time.Sleep(4 * lease)
				if least, most := extremes(owners(nodes[1:], shards)); least != 1 || most != 1 {
					t.Errorf("%d to %d owners", least, most)
				}
				releaseAll(nodes)
			})
		})
	}
}

// The work of a node grows with its own shards, not with those of all nodes.
func TestTheCallsOfANodeGrowWithItsOwnShards(t *testing.T) {
	counts := []int{3, 30, 200}
	if testing.Short() {
		counts = counts[:2]
	}
	for _, count := range counts {
		t.Run(fmt.Sprint(count), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				shards, seconds := 4096, 12
				if testing.Short() {
					shards = 512
				}
				m := newMemory(shards)
				var nodes []*node
				for i := range count {
					nodes = append(nodes, start(m, fmt.Sprint("node-", i)))
				}
				time.Sleep(2 * lease)
				before, calls := m.counted()
				for range seconds { // some create tasks in namespaces with quotas
					time.Sleep(time.Second)
					for _, n := range nodes[:3] {
						if all, _, whole := n.Sums(t.Context()); !whole || all["limited"].Bytes != int64(shards*(shards+1)/2) {
							t.Fatal(all, whole)
						}
					}
				}
				after, all := m.counted()
				own := float64(shards) / float64(count)
				each := float64(after-before) / float64(seconds*count)
				t.Logf("each node asks for %.1f leases and counts a second, and owns %.1f shards; %.1f calls", each, own, float64(all-calls)/float64(seconds*count))
				if each > 2*own+1 {
					t.Errorf("each node asks for %.1f leases and counts a second, and owns %.1f shards", each, own)
				}
				releaseAll(nodes)
			})
		})
	}
}

// Sums that miss the shards of a dead node, or have those of a slow one twice, are not
// used.
func TestSumsAreWholeOrNotUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const shards = 64
		m := newMemory(shards)
		a, b, c := start(m, "a"), start(m, "b"), start(m, "c")
		defer releaseAll([]*node{a, b, c})
		look := func(d time.Duration) (whole int) {
			for until := time.Now().Add(d); time.Now().Before(until); time.Sleep(100 * time.Millisecond) {
				all, age, ok := a.Sums(t.Context())
				if !ok {
					continue
				}
				whole++
				if got := all["limited"].Bytes; got != shards*(shards+1)/2 {
					t.Errorf("the sum is %d", got)
				}
				if age > sumsFresh {
					t.Errorf("it is %v old", age)
				}
			}
			return whole
		}
		time.Sleep(2 * lease)
		if n := look(2 * time.Second); n != 20 {
			t.Errorf("whole in %d of 20 looks", n)
		}
		b.link.freeze()
		if n := look(2 * lease); n < 20 || n > 100 {
			t.Errorf("a node froze, and the sum was whole in %d of 120 looks", n)
		}
		b.link.thaw()
		look(2 * lease)
		c.Release()
		if n := look(2 * lease); n < 90 {
			t.Errorf("a node left, and the sum was whole in %d of 120 looks", n)
		}
		for _, old := range []string{`{"at":1}`, "{"} {
			_ = a.link.Publish(t.Context(), "old", []byte(old))
			look(time.Second)
			if published, _ := a.link.Published(t.Context()); len(published) != 2 {
				t.Errorf("%d sums are published", len(published))
			}
		}
	})
}

// A machine that sleeps stops its monotonic clock, and a wall clock can be set
// back. A lease ends by the first of them.
func TestALeaseEndsByEitherClock(t *testing.T) {
	for now, want := range map[instant]bool{{9, 109}: true, {10, 50}: false, {3, 110}: false, {10, 110}: false} {
		h := new(Owned)
		h.until.Store(&instant{elapsed: 10, wall: 110})
		if h.holds(now) != want {
			t.Errorf("at %+v: %v", now, !want)
		}
		if later := h.holds(instant{1, 1}); later != want {
			t.Errorf("at %+v, and then both clocks are set back: %v", now, later)
		}
	}
}

// After an outage or a step of the clock, a holder that seems silent may be
// about to send its heartbeat.
func TestADuplicateTakesNoNameBeforeItsHolderHadTimeForAHeartbeat(t *testing.T) {
	const silence, heartbeat = 3 * time.Second, time.Second
	o, start := &Member{config: Config{Heartbeat: heartbeat}, self: Peer{Name: "a", Nonce: "later"}}, time.Now()
	for i, c := range []struct {
		at        time.Duration // the time at this process
		beat, now task.Millis
		found     Found
		mode      Mode // the mode of the heartbeat
		duplicate bool
	}{
		{at: 0, beat: 1000, now: 1100, found: Other, mode: Alive},                                   // the holder may have been killed
		{at: heartbeat, beat: 2000, now: 2100, found: Other, mode: Alive, duplicate: true},          // the holder is live
		{at: 2 * heartbeat, beat: 2000, now: 9000, found: Other, mode: KeepName, duplicate: true},   // the holder is silent, as far as is known
		{at: 2*heartbeat + 1, beat: 2000, now: 9000, found: Other, mode: KeepName, duplicate: true}, // another node sent a message
		{at: 3*heartbeat + 1, beat: 9900, now: 10000, found: Other, mode: Alive, duplicate: true},
		{at: 4*heartbeat + 1, beat: 9900, now: 19000, found: Other, mode: KeepName, duplicate: true},
		{at: 5*heartbeat + 1, beat: 9900, now: 20000, found: Moved, mode: Alive},
	} {
		at := start.Add(c.at)
		if mode := o.heartbeatMode(at, silence); mode != c.mode {
			t.Errorf("%d: a heartbeat of mode %d, want %d", i, mode, c.mode)
		}
		holder := Peer{Name: "a", Nonce: "first", Beat: c.beat}
		if c.found != Other {
			holder = Peer{Name: "a", Nonce: "later", Beat: c.now}
		}
		err := o.checkDuplicate(at, []Peer{holder}, c.now, c.found, silence)
		if o.duplicate.Load() != c.duplicate || (err != nil) != c.duplicate {
			t.Errorf("%d: duplicate %t, %v", i, o.duplicate.Load(), err)
		}
	}
	o.duplicate.Store(true)
	o.away = time.Now()
	if mode := o.heartbeatMode(time.Now(), silence); mode != NoName {
		t.Errorf("after an outage a heartbeat of mode %d", mode)
	}
}

// foliot serve and a program that share a store say so while both are live, because tasks
// with a kind would wait in foliot serve.
func TestAServerAndAProgramMustNotShareAStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory(4)
		var said atomic.Value // the last note
		said.Store("")
		open := func(name string, embedded bool) *node {
			n := &node{link: &link{memory: m}}
			c := n.config(name)
			c.Embedded = embedded
			c.Note = func(action string, err error, _ ...any) {
				if action == "share the store" && name == "server" {
					said.Store(fmt.Sprint(err))
				}
			}
			n.Member = New(c, n.link)
			n.Join()
			return n
		}
		nodes := []*node{open("server", false), open("another", false)}
		is := func(says string) {
			t.Helper()
			time.Sleep(lease)
			if got := said.Load().(string); !strings.Contains(got, says) {
				t.Errorf("the server notes %q, want %q", got, says)
			}
		}
		is("<nil>")
		program := open("shop", true)
		is(`the node "shop" at an unknown address is a program, and this one is foliot serve`)
		program.Release()
		is("<nil>")
		releaseAll(nodes)
	})
}
