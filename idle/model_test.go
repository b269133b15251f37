package idle

import (
	"cmp"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

var (
	modelSeeds = flag.Int("model.seeds", 150, "how many random lives TestEveryReasonAgreesWithTheModel plays")
	modelSeed  = flag.Uint64("model.seed", 1, "the first of them")
)

// modelled is the simple model of a connection: exact times, no steps.
type modelled struct {
	conn
	tracked           bool
	born              time.Time
	read, write, pong time.Time
	heard             bool
	pinged            time.Time // zero: no ping waits for a pong
	lastPing          time.Time
	pongBy            time.Time
	missed            int
	again             [Evicted + 1]time.Time
	asked             int
}

// model checks a group: every call of `on` must be due, and none may be
// missing.
type model struct {
	t    *testing.T
	cfg  Config
	rand *rand.Rand
	mu   sync.Mutex
	all  []*modelled
}

func later(times ...time.Time) (last time.Time) {
	for _, t := range times {
		if t.After(last) {
			last = t
		}
	}
	return last
}

// due returns the earliest time at which a reason is due for c, and false if
// never.
func (m *model) due(c *modelled, r Reason) (time.Time, bool) {
	var from time.Time
	var d time.Duration
	switch r {
	case ReadIdle:
		from, d = c.read, m.cfg.ReadIdle
	case WriteIdle:
		from, d = c.write, m.cfg.WriteIdle
	case AllIdle:
		from, d = later(c.read, c.write), m.cfg.AllIdle
	case Age:
		from, d = c.born, m.cfg.MaxAge
	case Handshake:
		if c.heard {
			return from, false
		}
		from, d = c.born, m.cfg.Handshake
	case Ping:
		if from, d = later(c.read, c.pong, c.lastPing), m.cfg.PingEvery; m.waits(c) {
			return c.pongBy, d > 0 && c.missed+1 < m.cfg.MaxMissed
		}
	case PongTimeout:
		return c.pongBy, m.waits(c) && c.missed+1 >= m.cfg.MaxMissed
	}
	return later(from.Add(d), c.again[r]), d > 0
}

// waits reports whether a ping waits for its pong. A pong in the instant of the
// ping counts.
func (m *model) waits(c *modelled) bool {
	return !c.pinged.IsZero() && c.pinged.After(later(c.read, c.pong))
}

// on is the function of the group. It checks that the call was due, and decides
// at random.
func (m *model) on(c *modelled, r Reason) Verdict {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	due, ok := m.due(c, r)
	slack := 2 * m.cfg.Resolution
	switch {
	case !c.tracked:
		m.t.Errorf("%v: asked about a connection that is not tracked", r)
	case !ok:
		m.t.Errorf("%v: asked for nothing", r)
	case now.Before(due):
		m.t.Errorf("%v: %v early", r, due.Sub(now))
	case now.Sub(due) > slack:
		m.t.Errorf("%v: %v late", r, now.Sub(due))
	}
	c.asked++
	v := Keep()
	if m.rand.IntN(3) == 0 {
		v = KeepFor(time.Duration(m.rand.Int64N(int64(20 * time.Second))))
	}
	if m.rand.IntN(8) == 0 {
		v = Close()
		c.tracked = false
		return v
	}
	m.keep(c, r, v, now)
	return v
}

func (m *model) keep(c *modelled, r Reason, v Verdict, now time.Time) {
	wait := map[Reason]time.Duration{
		ReadIdle: m.cfg.ReadIdle, WriteIdle: m.cfg.WriteIdle, AllIdle: m.cfg.AllIdle, Handshake: m.cfg.Handshake,
		Age: m.cfg.MaxAge / 10, Ping: m.cfg.PongWait, PongTimeout: m.cfg.PongWait,
	}[r]
	if v.hold > 0 {
		wait = v.hold
	}
	switch r {
	case Ping:
		if m.waits(c) {
			c.missed++
		} else {
			c.missed = 0
		}
		c.pinged, c.lastPing, c.pongBy = now, now, now.Add(wait)
	case PongTimeout:
		if c.pongBy = now.Add(wait); v == Keep() {
			c.pinged, c.lastPing, c.missed = time.Time{}, now, 0
		}
	default:
		c.again[r] = now.Add(wait)
	}
}

func (m *model) track(g *Group[*modelled], c *modelled) {
	now := time.Now()
	*c = modelled{conn: conn{closed: make(chan struct{})}, tracked: true, born: now, read: now, write: now, pong: now, lastPing: now}
	track(m.t, g, c, &c.Entry)
}

// act changes one of the connections at random.
func (m *model) act(g *Group[*modelled]) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c, now := m.all[m.rand.IntN(len(m.all))], time.Now()
	if !c.tracked {
		m.track(g, c)
		return
	}
	switch k := m.rand.IntN(20); {
	case k < 8:
		c.TouchRead()
		c.read, c.heard = now, true
	case k < 12:
		c.TouchWrite()
		c.write = now
	case k < 18:
		c.Pong()
		c.pong = now
	case k == 18:
		if !g.Untrack(&c.Entry) {
			m.t.Error("not untracked")
		}
		c.tracked = false
	}
	if !c.read.Before(c.pinged) || !c.pong.Before(c.pinged) {
		c.missed = 0
	}
}

// overdue finds missing calls of `on`.
func (m *model) overdue() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range m.all {
		for r := ReadIdle; r <= PongTimeout && c.tracked; r++ {
			if due, ok := m.due(c, r); ok && time.Since(due) > 2*m.cfg.Resolution {
				m.t.Errorf("%v: not asked %v after it was due", r, time.Since(due))
			}
		}
	}
}

func TestEveryReasonAgreesWithTheModel(t *testing.T) {
	lives := *modelSeeds
	if testing.Short() {
		lives = min(lives, 12)
	}
	for k := range lives {
		seed := *modelSeed + uint64(k)
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { playModel(t, rand.New(rand.NewPCG(seed, 35))) })
		})
	}
}

func playModel(t *testing.T, r *rand.Rand) {
	some := func() time.Duration {
		if r.IntN(3) == 0 {
			return 0
		}
		return time.Duration(1+r.Int64N(int64(10*time.Second))) + 100*time.Millisecond
	}
	m := &model{t: t, rand: r, cfg: Config{
		ReadIdle: some(), WriteIdle: some(), AllIdle: cmp.Or(some(), Never), MaxAge: some() * 10, Handshake: some(),
		PingEvery: some(), PongWait: some() + time.Second, MaxMissed: 1 + r.IntN(3), Jitter: -1,
		Resolution: time.Duration(5+r.IntN(200)) * time.Millisecond, Workers: 1 + r.IntN(3),
	}}
	g := New(m.cfg, m.on)
	for range 1 + r.IntN(20) {
		m.all = append(m.all, new(modelled))
	}
	for range 1000 {
		m.mu.Lock()
		pause := time.Duration(r.Int64N(int64(2 * time.Second / time.Duration(len(m.all)))))
		m.mu.Unlock()
		time.Sleep(pause)
		synctest.Wait() // the group has handled everything that was due
		m.overdue()
		m.act(g)
		if t.Failed() {
			t.Logf("%+v", m.cfg)
			return
		}
	}
	asked := 0
	for _, c := range m.all {
		asked += c.asked
	}
	g.Close()
	if s := g.Stats(); s.Len != 0 || s.Queued != 0 {
		t.Errorf("left behind: %+v", s)
	}
}
