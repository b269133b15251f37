package redisstore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/quick"
	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/permits"
	"github.com/foliot/foliot/internal/store/redisstore/keyspace"
	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
)

// partner is a process that shares limits, reduced to its own knowledge of
// them.
type partner struct {
	t     testing.TB
	c     rueidis.Client
	who   string
	scope store.PermitScope
	lease time.Duration
	n     uint64
	said  []redisconn.Run // every ask, in order

	held, running int
	share         int
	tokens        int
	after         time.Time
	used          uint64
	usedAt, until time.Time
}

func newPartner(t testing.TB, c rueidis.Client, name string, lease time.Duration) *partner {
	return &partner{t: t, c: c, who: name + "/nonce", lease: lease, scope: store.PermitScope{Namespace: "default", Queue: t.Name()}, share: -1}
}

// ask asks like a dispatcher. If lost is true, the reply does not arrive.
func (p *partner) ask(limits settings.QueueSettings, want, tokens int, lost bool) (store.PermitReply, []string) {
	p.t.Helper()
	p.n++
	sent := time.Now()
	if sent.After(p.until) {
		p.held, p.tokens = 0, 0
	}
	p.held = min(p.held, max(want, p.running))
	p.tokens = min(p.tokens, tokens)
	ask := store.PermitAsk{
		PermitScope: p.scope, Concurrency: limits.Concurrency, Keep: p.held, Want: want,
		Rate: limits.Rate, Used: p.used, UsedAgo: sent.Sub(p.usedAt), Tokens: tokens,
	}
	if limits.Rate > 0 {
		ask.Burst = limits.BurstOrDefault()
	}
	r := permitRun(storeKeys, p.who, p.n, p.lease, ask)
	p.said = append(p.said, r)
	reply, others := p.send(r)
	if !lost {
		p.until = sent.Add(p.lease)
		p.held, p.share, p.tokens, p.after = reply.Held, reply.Share, reply.Tokens, time.Now().Add(reply.After)
	}
	return reply, others
}

func (p *partner) send(r redisconn.Run) (store.PermitReply, []string) {
	p.t.Helper()
	reply, others, err := readPermits(permitting.Do(context.WithoutCancel(p.t.Context()), p.c, []redisconn.Run{r})[0])
	fatal.If(p.t, err)
	return reply, others
}

// lives returns the number of permits that p may rely on.
func (p *partner) lives(now time.Time) int {
	if now.Before(p.until) {
		return p.held
	}
	return 0
}

// start uses a token, if there is one.
func (p *partner) start(now time.Time) bool {
	if !now.Before(p.until) || p.tokens == 0 || p.tokens == 1 && now.Before(p.after) {
		return false
	}
	p.tokens--
	p.used++
	p.usedAt = now
	return true
}

func redisClient(t testing.TB) rueidis.Client {
	t.Helper()
	c, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{redistest.New(t).Addr}, DisableCache: true, ForceSingleClient: true})
	fatal.If(t, err)
	t.Cleanup(c.Close)
	return c
}

// TestPermitsOfAllNodesStayWithinTheLimit: the limit holds although replies get
// lost, asks come late or twice, and nodes die.
func TestPermitsOfAllNodesStayWithinTheLimit(t *testing.T) {
	t.Parallel()
	c, lease := redisClient(t), 40*time.Millisecond
	rounds := 6
	if testing.Short() {
		rounds = quick.Of(3, 1)
	}
	for round := range rounds {
		rnd := rand.New(rand.NewPCG(uint64(round), 6))
		limits := settings.QueueSettings{Concurrency: 1 + rnd.IntN(9)}
		var nodes []*partner
		for i := range 2 + rnd.IntN(4) {
			p := newPartner(t, c, fmt.Sprint("n", i), lease)
			p.scope.Destination = fmt.Sprint(round)
			nodes = append(nodes, p)
		}
		most, busy := 0, 0
		for range 600 {
			p := nodes[rnd.IntN(len(nodes))]
			switch n := rnd.IntN(20); {
			case n < 12:
				want := rnd.IntN(12)
				if p.share >= 0 {
					p.running = min(p.running, p.share)
				}
				p.running = min(p.running, p.held)
				p.ask(limits, want, 0, n == 0)
				p.running = rnd.IntN(p.held + 1)
			case n < 15 && len(p.said) > 0: // an ask that was delayed for long
				p.send(p.said[rnd.IntN(len(p.said))])
			case n == 15: // it dies, and another node starts
				p.who += "'"
				p.until, p.held, p.running = time.Time{}, 0, 0
			case n == 16:
				time.Sleep(time.Duration(rnd.Int64N(int64(lease) / 2)))
			}
			sum, now := 0, time.Now()
			for _, p := range nodes {
				sum += p.lives(now)
			}
			if sum > limits.Concurrency {
				t.Fatalf("round %d: %d permits are held of %d", round, sum, limits.Concurrency)
			}
			most, busy = max(most, sum), busy+sum
		}
		if most != limits.Concurrency {
			t.Errorf("round %d: never more than %d permits were held of %d", round, most, limits.Concurrency)
		}
	}
}

func TestPermitsOfDeadNodesAndLostRepliesAreFreeAfterTheLease(t *testing.T) {
	c, lease := redisClient(t), 100*time.Millisecond
	limits := settings.QueueSettings{Concurrency: 5, Rate: 1000, Burst: 4}
	dead, alive := newPartner(t, c, "dead", lease), newPartner(t, c, "alive", lease)
	dead.ask(limits, 5, 4, true)
	if r, _ := alive.ask(limits, 5, 4, false); r.Held != 0 || r.Tokens > 1 {
		t.Errorf("there is more than the limit: %+v", r)
	}
	eventually(t, "everything is free", func() bool {
		r, _ := alive.ask(limits, 5, 4, false)
		return r.Held == 5 && r.Tokens == 4
	})
}

func TestPermitsAreSharedAndUnusedSharesGoToOtherNodes(t *testing.T) {
	c := redisClient(t)
	for i, wants := range [][]int{{10, 10}, {1, 20, 20}, {20, 3, 20}, {2, 2, 2}, {9, 9, 9, 9, 9}} {
		limits := settings.QueueSettings{Concurrency: 10}
		var nodes []*partner
		for n := range wants {
			p := newPartner(t, c, fmt.Sprint("n", n), time.Minute)
			p.scope.Destination = fmt.Sprint(i)
			nodes = append(nodes, p)
		}
		for range 4 {
			for n, p := range nodes { // attempts are short: all permits are free at each ask
				want := wants[n]
				if p.share >= 0 {
					p.held = min(p.held, p.share)
				}
				p.ask(limits, want, 0, false)
			}
		}
		var held []int
		sum, level, total := 0, 0, 0
		for n, p := range nodes {
			held, sum, total = append(held, p.held), sum+p.held, total+wants[n]
			if p.held < wants[n] {
				level = max(level, p.held)
			}
		}
		for n := range nodes {
			if held[n] < min(wants[n], level-1) {
				t.Errorf("of 10 permits those who want %v have %v", wants, held)
			}
		}
		if sum != min(10, total) {
			t.Errorf("of 10 permits those who want %v have %v", wants, held)
		}
	}
}

// TestAllNodesGetAScarcePermitInTurn has one permit, and three nodes with a
// backlog.
func TestAllNodesGetAScarcePermitInTurn(t *testing.T) {
	t.Parallel()
	c := redisClient(t)
	limits := settings.QueueSettings{Concurrency: 1}
	nodes := []*partner{newPartner(t, c, "a", time.Minute), newPartner(t, c, "b", time.Minute), newPartner(t, c, "c", time.Minute)}
	served, told := map[string]int{}, map[string]int{}
	holder := ""
	for end := time.Now().Add(1500 * time.Millisecond); time.Now().Before(end); time.Sleep(time.Millisecond) { // nodes ask when they have something to start
		for _, p := range nodes {
			if p.share >= 0 {
				p.held = min(p.held, p.share)
			}
			_, others := p.ask(limits, 1, 0, false)
			for _, o := range others {
				told[o]++
			}
			if p.held == 1 && holder != p.who {
				holder = p.who
				served[holder]++
			}
		}
	}
	for _, p := range nodes {
		if served[p.who] < 1 || served[p.who] > 4 {
			t.Errorf("%s had the permit %d times within 1.5 s: %v", p.who, served[p.who], served)
		}
		if told[p.who] == 0 {
			t.Errorf("%s never received a hint: %v", p.who, told)
		}
	}
}

// TestTokensOfAllNodesStayWithinBurstAndRate: the bound holds over any period,
// with any behaviour of the nodes.
func TestTokensOfAllNodesStayWithinBurstAndRate(t *testing.T) {
	t.Parallel()
	c, lease := redisClient(t), 150*time.Millisecond
	period := quick.Of(400*time.Millisecond, lease)
	for i, limits := range []settings.QueueSettings{{Rate: 200, Burst: 1}, {Rate: 1000, Burst: 20}, {Rate: 3000, Burst: 3000}, {Rate: 20, Burst: 5}} {
		rnd := rand.New(rand.NewPCG(uint64(i), 7))
		var nodes []*partner
		for n := range 3 {
			p := newPartner(t, c, fmt.Sprint("n", n), lease)
			p.scope.Destination = fmt.Sprint(i)
			nodes = append(nodes, p)
		}
		var starts []time.Time
		faulty := i%2 == 0
		began := time.Now()
		for time.Since(began) < period {
			p := nodes[rnd.IntN(3)]
			switch n := rnd.IntN(200); {
			case n < 2 && faulty:
				p.ask(limits, 0, rnd.IntN(30), true)
			case n == 3 && faulty && len(p.said) > 0:
				p.send(p.said[rnd.IntN(len(p.said))])
			case n == 4 && faulty:
				p.who += "'"
				p.until, p.tokens, p.used = time.Time{}, 0, 0
			case p.tokens == 0 || n < 20:
				p.ask(limits, 0, 1+rnd.IntN(30), false)
			default:
				for now := time.Now(); p.start(now); now = time.Now() {
					starts = append(starts, now)
				}
			}
		}
		withinLimit(t, limits, starts)
		if got, want := float64(len(starts)), float64(limits.Burst)+period.Seconds()*limits.Rate; !testing.Short() && !faulty && got < 0.7*want {
			t.Errorf("with %v a second and bursts of %d there were %v starts, want some %v", limits.Rate, limits.Burst, got, want)
		}
	}
}

// withinLimit checks every interval between two starts.
func withinLimit(t *testing.T, limits settings.QueueSettings, starts []time.Time) {
	t.Helper()
	slices.SortFunc(starts, time.Time.Compare)
	for i, from := range starts {
		for j, to := range starts[i:] {
			if most := float64(limits.BurstOrDefault()) + limits.Rate*to.Sub(from).Seconds(); float64(j+1) > most+1e-3 {
				t.Fatalf("with %v a second and bursts of %d there were %d starts within %v", limits.Rate, limits.Burst, j+1, to.Sub(from))
			}
		}
	}
}

func TestKeysOfLimitsExpire(t *testing.T) {
	c := redisClient(t)
	limits := settings.QueueSettings{Concurrency: 5, Rate: 100, Burst: 4}
	p := newPartner(t, c, "n", 50*time.Millisecond)
	p.ask(limits, 5, 4, false)
	p.start(time.Now())
	p.ask(limits, 5, 4, false)
	eventually(t, "the keys are gone", func() bool {
		n, err := c.Do(t.Context(), c.B().Dbsize().Build()).AsInt64()
		fatal.If(t, err)
		return n == 0
	})
}

func TestANewRateKeepsTheDebt(t *testing.T) {
	c := redisClient(t)
	p := newPartner(t, c, "n", time.Minute)
	p.ask(settings.QueueSettings{Rate: 0.01, Burst: 4}, 0, 4, false)
	for p.start(time.Now()) {
	}
	if r, _ := p.ask(settings.QueueSettings{Rate: 0.01, Burst: 6}, 0, 6, false); r.Tokens != 2 {
		t.Errorf("with a deeper bucket: %+v", r)
	}
	for range 4 {
		p.ask(settings.QueueSettings{Rate: 0.1, Burst: 6}, 0, 6, false)
	}
	if p.tokens != 4 {
		t.Errorf("with a higher rate: %d tokens", p.tokens)
	}
	if r, _ := p.ask(settings.QueueSettings{Rate: 1000, Burst: 6}, 0, 0, false); r.Tokens != 0 {
		t.Errorf("given back: %+v", r)
	}
	eventually(t, "it fills by the new rate", func() bool {
		r, _ := p.ask(settings.QueueSettings{Rate: 1000, Burst: 6}, 0, 6, false)
		return r.Tokens == 6
	})
}

// TestTokensOnHandOutliveTheirProcess: it may have used them, so the bucket is full
// only after the time of these tokens.
func TestTokensOnHandOutliveTheirProcess(t *testing.T) {
	c := redisClient(t)
	p := newPartner(t, c, "n", 50*time.Millisecond)
	r, _ := p.ask(settings.QueueSettings{Rate: 0.01, Burst: 8}, 0, 8, false)
	left, err := c.Do(t.Context(), c.B().Pttl().Key(storeKeys.Permits(permits.Name(p.scope))[1]).Build()).AsInt64()
	if fatal.If(t, err); r.Tokens == 0 || left < int64(r.Tokens)*99_000 {
		t.Errorf("with %d tokens the key expires in %d ms", r.Tokens, left)
	}
}

func TestPermitsInASlotThatIsHalfMoved(t *testing.T) {
	long(t)
	c := redistest.NewCluster(t, 3, 0)
	s, m := openNode(t, "a", c.Addrs()...), newMover(t, c)
	ask := store.PermitAsk{PermitScope: store.PermitScope{Namespace: "default", Queue: "q"}, Concurrency: 5, Want: 4, Rate: 0.001, Burst: 8, Tokens: 4}
	slot := keyspace.SlotOf("q:default/q")
	m.gather([]uint16{slot})
	if r := s.Permit(t.Context(), []store.PermitAsk{ask})[0]; r.Err != nil || r.Held != 4 || r.Tokens != 4 {
		t.Fatalf("%+v", r)
	}
	m.half(slot)
	ask.Keep, ask.Want, ask.Used, ask.Tokens = 4, 5, 2, 6
	if r := s.Permit(t.Context(), []store.PermitAsk{ask})[0]; r.Err == nil {
		t.Fatalf("half of its keys were elsewhere: %+v", r)
	}
	m.finish(slot)
	eventually(t, "it is as it was", func() bool {
		r := s.Permit(t.Context(), []store.PermitAsk{ask})[0]
		return r.Err == nil && r.Held == 5 && r.Tokens == 6
	})
}
