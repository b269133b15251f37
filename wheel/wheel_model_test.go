package wheel

import (
	"maps"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// trial applies operations to a Wheel or a Keyed and to a simple model, on fake
// time. It runs in a bubble, and callbacks run inline, so all due timers have
// fired whenever the test's goroutine has waited.
type trial struct {
	t     testing.TB
	tick  time.Duration
	start time.Time

	// It guards everything below, and the model. Each operation holds it, and
	// then waits until all due timers have fired. So nothing is under way
	// between operations.
	mu     sync.Mutex
	ended  map[int]bool // values that no longer are pending
	values int
}

func newTrial(t testing.TB, cfg Config) *trial {
	return &trial{t: t, tick: tickOf(cfg), start: time.Now(), ended: make(map[int]bool)}
}

func (c *trial) do(operation func()) {
	synctest.Wait()
	c.mu.Lock()
	operation()
	c.mu.Unlock()
	synctest.Wait()
}

func (c *trial) end(v int) {
	if c.ended[v] {
		c.t.Errorf("value %d has ended twice", v)
	}
	c.ended[v] = true
}

// deadline is the range in which a timer must fire: at or after from, and at or
// before until. wall selects the clock.
type deadline struct {
	v           int
	from, until time.Duration
	wall        bool
}

// in returns the deadline of a timer that is set now for a delay.
func (c *trial) in(d time.Duration, v int) deadline {
	from := time.Since(c.start) + max(0, d)
	return deadline{v: v, from: from, until: from + c.tick}
}

// wheelTrial compares a Wheel with a map of deadlines.
type wheelTrial struct {
	*trial
	w       *Wheel[int]
	clock   *steppedClock
	stepped time.Duration // when the clock was last stepped, since start
	ids     []ID
	pending map[ID]deadline
}

func newWheelTrial(t testing.TB, cfg Config) *wheelTrial {
	c := &wheelTrial{trial: newTrial(t, cfg), clock: new(steppedClock), pending: make(map[ID]deadline)}
	cfg.Run = Inline
	c.w = New(cfg, c.fire)
	c.w.settings.wallNow = c.clock.now
	return c
}

func (c *wheelTrial) now(wall bool) time.Duration {
	if wall {
		return c.clock.now().Sub(c.start.Round(0))
	}
	return time.Since(c.start)
}

func (c *wheelTrial) fire(v int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, d := range c.pending {
		if d.v != v {
			continue
		}
		if now := c.now(d.wall); now < d.from {
			c.t.Errorf("timer %d fired %v early", v, d.from-now)
		}
		c.end(id, v)
		return
	}
	c.t.Errorf("timer %d fired, but is not pending", v)
}

func (c *wheelTrial) end(id ID, v int) {
	c.trial.end(v)
	delete(c.pending, id)
}

func (c *wheelTrial) added(id ID, d deadline) {
	if id == 0 || c.pending[id] != (deadline{}) {
		c.t.Fatalf("ID %x given", id)
	}
	c.pending[id] = d
	c.ids = append(c.ids, id)
}

func (c *wheelTrial) add(d, slack time.Duration) {
	c.values++
	due := c.in(d, c.values)
	due.until += slack
	c.added(must(c.w.AddAt(When{After: d, Slack: slack}, c.values)), due)
}

func (c *wheelTrial) addAt(d, slack time.Duration) {
	c.values++
	at := c.now(true) + d
	id := must(c.w.AddAt(When{At: c.start.Add(at), Slack: slack}, c.values))
	c.added(id, deadline{v: c.values, from: at, until: at + c.tick + slack, wall: true})
}

func (c *wheelTrial) pick(r int) ID {
	if len(c.ids) == 0 {
		return ID(r)
	}
	return c.ids[r%len(c.ids)]
}

func (c *wheelTrial) reset(id ID, d time.Duration) {
	old, ok := c.pending[id]
	if ok {
		c.pending[id] = c.in(d, old.v)
	}
	if got := c.w.Reset(id, d); got != ok {
		c.t.Errorf("Reset(%x) = %v, want %v", id, got, ok)
	}
}

func (c *wheelTrial) extend(id ID, d time.Duration) {
	old, ok := c.pending[id]
	if left := old.from - c.now(old.wall); old.wall && d > left && d <= left+c.tick {
		return // whether it leaves the wall clock depends on how its deadline was rounded
	}
	if ok {
		from := c.now(false) + max(0, d)
		// If it is later already, nothing changes. Rounding may decide either
		// way.
		if from-c.now(false) > old.from-c.now(old.wall) {
			c.pending[id] = deadline{v: old.v, from: from, until: max(from+c.tick, c.now(false)+old.until-c.now(old.wall))}
		}
	}
	if got := c.w.Extend(id, d); got != ok {
		c.t.Errorf("Extend(%x) = %v, want %v", id, got, ok)
	}
}

func (c *wheelTrial) remove(id ID) {
	old, ok := c.pending[id]
	v, got := c.w.Remove(id)
	if got != ok || v != old.v {
		c.t.Errorf("Remove(%x) = %d, %v, want %d, %v", id, v, got, old.v, ok)
	}
	if ok {
		c.end(id, v)
	}
}

func (c *wheelTrial) step(d time.Duration) {
	c.clock.step(d)
	c.stepped = c.now(false)
}

func (c *wheelTrial) sleep(d time.Duration) {
	time.Sleep(d)
	c.do(c.check)
}

func (c *wheelTrial) check() {
	if got := c.w.Len(); got != len(c.pending) {
		c.t.Errorf("Len = %d, want %d", got, len(c.pending))
	}
	next, ok := untilNext(c.w)
	if ok != (len(c.pending) > 0) {
		c.t.Errorf("Next = %v, %v, but %d are pending", next, ok, len(c.pending))
	}
	for _, d := range c.pending {
		now := c.now(d.wall)
		// A step ahead of the wall clock is noticed within wallCheck.
		if late := now - d.until; late > 0 && (!d.wall || c.now(false)-c.stepped > wallCheck) {
			c.t.Errorf("timer %d is %v overdue", d.v, late)
		}
		if d.until-now < next && !d.wall {
			c.t.Errorf("Next = %v, but timer %d is due in %v", next, d.v, d.until-now)
		}
	}
}

// finish lets all timers fire, except very distant ones.
func (c *wheelTrial) finish() {
	for id, d := range maps.Clone(c.pending) {
		if d.from-c.now(d.wall) > 1000*time.Hour {
			c.do(func() { c.remove(id) })
		}
	}
	for range 10 {
		c.sleep(101 * time.Hour)
	}
	if len(c.pending) > 0 {
		c.t.Errorf("%d never fired", len(c.pending))
	}
	checkCounters(c.t, c.w)
	for _, sh := range c.w.shards {
		verifyEmpty(c.t, &sh.ticks)
		if sh.wall != nil {
			verifyEmpty(c.t, sh.wall)
		}
	}
	c.w.Close()
}

// run reads operations of three bytes: the operation and two numbers.
func (c *wheelTrial) run(data []byte) {
	for ; len(data) >= 3 && !c.t.Failed(); data = data[3:] {
		what, a, b := data[0]%16, int(data[1]), int(data[2])
		d := time.Duration(a) << (b % 44) // up to 50 days
		switch next, ok := untilNext(c.w); {
		case what < 13:
			c.do(func() { c.operate(what, a, b, d) })
		case what == 13 && ok:
			c.sleep(min(next, 24*time.Hour))
		default:
			c.sleep(d % (24 * time.Hour))
		}
	}
	c.finish()
}

func (c *wheelTrial) operate(what byte, a, b int, d time.Duration) {
	switch what {
	case 0, 1, 2:
		c.add(d, 0)
	case 3:
		c.add(d, time.Duration(b)*time.Millisecond)
	case 4:
		c.add(-d, 0)
	case 5:
		c.addAt(d, time.Duration(b)*time.Millisecond)
	case 6:
		c.addAt(d, 0)
	case 7:
		c.remove(c.pick(a<<8 | b))
	case 8:
		c.reset(c.pick(a), time.Duration(b)<<(a%40))
	case 9, 10:
		c.extend(c.pick(a), time.Duration(b)<<(a%40))
	case 11:
		c.step(d % (2 * time.Hour))
	case 12:
		c.step(-d % (2 * time.Hour))
	}
}

func runWheelOps(t *testing.T, data []byte) {
	if len(data) == 0 {
		return
	}
	synctest.Test(t, func(t *testing.T) {
		cfg := Config{Shards: 1 << (data[0] % 3), Tick: time.Duration(data[0])*time.Millisecond/4 + minTick}
		newWheelTrial(t, cfg).run(data[1:])
	})
}

func FuzzWheel(f *testing.F) {
	f.Add([]byte{4, 0, 100, 20, 14, 200, 19, 9, 0, 31, 14, 255, 28})
	f.Add([]byte{9, 5, 9, 40, 12, 60, 36, 14, 255, 34, 8, 0, 7, 7, 0, 0})
	f.Add([]byte{0, 3, 77, 33, 10, 0, 200, 13, 0, 0, 11, 90, 36, 13, 0, 0})
	f.Fuzz(runWheelOps)
}

func TestAWheelAgreesWithItsModelOnFakeTime(t *testing.T) { runAtRandom(t, runWheelOps) }

// runAtRandom passes random bytes, drawn from the seed, to the function of a
// fuzz target.
func runAtRandom(t *testing.T, run func(t *testing.T, data []byte)) {
	operations := modelOperations() / 200
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(*modelSeed, seed))
		data := make([]byte, 1+3*operations/20)
		for i := range data {
			data[i] = byte(r.Uint32())
		}
		run(t, data)
		if t.Failed() {
			t.Fatalf("seed %d, %d", *modelSeed, seed)
		}
	}
}
