package permits

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/store"
)

const start, second = int64(1_790_000_000_000_000), int64(1_000_000)

// node is a process that shares limits, reduced to its own knowledge of them.
type node struct {
	who                 string
	n, used             uint64
	held, share, tokens int
	usedAt, until, on   int64
	late                []func(now int64) // its asks, which may arrive again
}

func nodes(n int) (all []*node) {
	for i := range n {
		all = append(all, &node{who: fmt.Sprint("n", i), share: -1})
	}
	return all
}

// ask asks, and hears the reply unless it is lost.
func (p *node) ask(s *Scope, now int64, lease time.Duration, limits store.PermitAsk, want, tokens int, lost bool) store.PermitReply {
	p.n++
	if now >= p.until {
		p.held, p.tokens = 0, 0
	}
	p.held, p.tokens = min(p.held, want), min(p.tokens, tokens)
	limits.Keep, limits.Want, limits.Used, limits.Tokens = p.held, want, p.used, tokens
	limits.UsedAgo = micros(now - p.usedAt)
	n := p.n
	p.late = append(p.late, func(now int64) { s.Ask(now, p.who, n, lease, limits) })
	r, _ := s.Ask(now, p.who, n, lease, limits)
	if !lost {
		p.held, p.share, p.tokens, p.on, p.until = r.Held, r.Share, r.Tokens, now+r.After.Microseconds(), now+lease.Microseconds()
	}
	return r
}

// die replaces the process by a new one.
func (p *node) die() { *p = node{who: p.who + "'", share: -1} }

// start uses a token, if there is one.
func (p *node) start(now int64) bool {
	if now >= p.until || p.tokens == 0 || p.tokens == 1 && now < p.on {
		return false
	}
	p.tokens, p.used, p.usedAt = p.tokens-1, p.used+1, now
	return true
}

func TestTheSumOfPermitsStaysWithinTheLimit(t *testing.T) {
	for seed := range uint64(100) {
		rnd, s, now := rand.New(rand.NewPCG(seed, 1)), &Scope{}, start
		limits, all, most := store.PermitAsk{Concurrency: 1 + rnd.IntN(9)}, nodes(2+rnd.IntN(4)), 0
		for range 600 {
			now += rnd.Int64N(second)
			p := all[rnd.IntN(len(all))]
			switch n := rnd.IntN(20); {
			case n == 0:
				p.die()
			case n < 3 && len(p.late) > 0:
				p.late[rnd.IntN(len(p.late))](now)
			default:
				p.ask(s, now, 10*time.Second, limits, rnd.IntN(12), 0, n == 4)
			}
			sum := 0
			for _, p := range all {
				if now < p.until {
					sum += p.held
				}
			}
			if most = max(most, sum); sum > limits.Concurrency {
				t.Fatalf("seed %d: %d permits are held of %d", seed, sum, limits.Concurrency)
			}
		}
		if most != limits.Concurrency {
			t.Errorf("seed %d: never more than %d permits were held of %d", seed, most, limits.Concurrency)
		}
	}
}

func TestStartsStayWithinBurstAndRate(t *testing.T) {
	for seed := range uint64(100) {
		rnd, s, now := rand.New(rand.NewPCG(seed, 2)), &Scope{}, start
		limits := store.PermitAsk{Rate: []float64{0.05, 3, 20, 333}[seed%4], Burst: 1 + rnd.IntN(20)}
		all := nodes(1 + rnd.IntN(4))
		var starts []int64
		for range 3000 {
			now += rnd.Int64N(int64(1e6 / limits.Rate))
			p := all[rnd.IntN(len(all))]
			switch n := rnd.IntN(100); {
			case n == 0:
				p.die()
			case n < 3 && len(p.late) > 0:
				p.late[rnd.IntN(len(p.late))](now)
			case n < 60:
				p.ask(s, now, 10*time.Second, limits, 0, 1+rnd.IntN(30), n == 4)
			}
			for rnd.IntN(10) > 0 && p.start(now) {
				starts = append(starts, now)
			}
		}
		for i, from := range starts {
			for j, to := range starts[i:] {
				if most := float64(limits.Burst) + limits.Rate*float64(to-from)/1e6; float64(j+1) > most*(1+1e-5) { // Full is rounded to a quarter of a microsecond
					t.Fatalf("seed %d: %d starts within %v, with %v a second and bursts of %d", seed, j+1, micros(to-from), limits.Rate, limits.Burst)
				}
			}
		}
	}
}

// TestNobodyStarves has three nodes with a backlog, one permit, and 20 tokens a
// second. The clock is set back by an hour.
func TestNobodyStarves(t *testing.T) {
	s, all, now, served := &Scope{}, nodes(3), start+3600*second, map[string]int{}
	limits := store.PermitAsk{Concurrency: 1, Rate: 20, Burst: 1}
	for i := range 9000 {
		if now += 1000; i == 3000 {
			now -= 3600 * second
		}
		for _, p := range all {
			if p.share == 0 {
				p.held = 0
			}
			before := p.held
			p.ask(s, now, time.Second, limits, 1, 1, false)
			if p.held > before {
				served[p.who]++
			}
			if p.start(now) {
				served[p.who+" starts"]++
			}
		}
	}
	for _, p := range all {
		if turns, starts := served[p.who], served[p.who+" starts"]; turns < 12 || starts < 55 {
			t.Errorf("%s had %d turns and %d starts: %v", p.who, turns, starts, served)
		}
	}
}

func TestAScopeIsAsGoodAsNewAtItsEnd(t *testing.T) {
	s, p := &Scope{}, &node{who: "n"}
	limits := store.PermitAsk{Concurrency: 5, Rate: 1.0 / 60, Burst: 8}
	p.ask(s, start, time.Second, limits, 5, 8, false)
	for p.start(start + second - 1) {
	}
	after := &node{who: "after"}
	if r := after.ask(s, s.End(), time.Second, limits, 5, 8, false); r.Held != 5 || s.Full > float64(after.until-second) {
		t.Errorf("%+v, and the bucket is full in %v", r, micros(int64(s.Full)-after.until+second))
	}
}
