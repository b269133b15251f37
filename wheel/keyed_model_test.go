package wheel

import (
	"errors"
	"maps"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// keyedTrial compares a Keyed with a map.
type keyedTrial struct {
	*trial
	k       *Keyed[any, int]
	most    int // MaxPending; 0: no limit
	pending map[any]deadline
	nans    map[int]deadline // by value: timers of the key that is not equal to itself
	closed  bool
}

func newKeyedTrial(t testing.TB, cfg Config) *keyedTrial {
	c := &keyedTrial{trial: newTrial(t, cfg), most: cfg.MaxPending, pending: make(map[any]deadline), nans: make(map[int]deadline)}
	cfg.Run = Inline
	c.k = NewKeyed(cfg, c.fire)
	return c
}

func (c *keyedTrial) fire(key any, v int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p, ok := c.pending[key]
	if key != key {
		p, ok = c.nans[v]
	}
	if !ok || p.v != v {
		c.t.Errorf("%v fired with %d, want %v, %v", key, v, p, ok)
	}
	if now := time.Since(c.start); now < p.from {
		c.t.Errorf("%v fired %v early", key, p.from-now)
	}
	if c.end(key, v); v%3 == 0 { // Set during its own firing
		c.set(key, time.Duration(v)*time.Second)
	}
}

func (c *keyedTrial) end(key any, v int) {
	c.trial.end(v)
	delete(c.pending, key)
	delete(c.nans, v)
}

// refusal returns the error that a new timer would meet.
func (c *keyedTrial) refusal() error {
	switch {
	case c.closed:
		return ErrClosed
	case c.most > 0 && len(c.pending)+len(c.nans) == c.most:
		return ErrFull
	}
	return nil
}

func (c *keyedTrial) added(key any, p deadline) {
	if key != key {
		c.nans[p.v] = p
		return
	}
	c.pending[key] = p
}

func (c *keyedTrial) set(key any, d time.Duration) {
	c.setBy(key, d, 0, func() (bool, error) { return c.k.Set(key, d, c.values) })
}

// setAt sets a timer of the wall clock, or one of the monotonic clock.
func (c *keyedTrial) setAt(key any, d, slack time.Duration, wall bool) {
	when := When{After: d, Slack: slack}
	if wall {
		when = When{At: time.Now().Add(d), Slack: slack}
	}
	c.setBy(key, d, slack, func() (bool, error) { return c.k.SetAt(key, when, c.values) })
}

func (c *keyedTrial) setBy(key any, d, slack time.Duration, set func() (replaced bool, err error)) {
	c.values++
	old, found := c.pending[key]
	want := c.refusal()
	if found && !c.closed {
		want = nil
	}
	replaced, err := set()
	if replaced != (found && !c.closed) || !errors.Is(err, want) {
		c.t.Errorf("Set(%v) = %v, %v, want %v, %v", key, replaced, err, found, want)
	}
	if err != nil {
		return
	}
	if found {
		c.end(key, old.v)
	}
	due := c.in(d, c.values)
	due.until += slack
	c.added(key, due)
}

func (c *keyedTrial) setIfAbsent(key any, d time.Duration) {
	c.values++
	_, found := c.pending[key]
	want := c.refusal()
	if found && !c.closed {
		want = nil
	}
	set, err := c.k.SetIfAbsent(key, d, c.values)
	if set != (!found && want == nil) || !errors.Is(err, want) {
		c.t.Errorf("SetIfAbsent(%v) = %v, %v, want %v, %v", key, set, err, !found, want)
	}
	if set {
		c.added(key, c.in(d, c.values))
	}
}

func (c *keyedTrial) move(key any, d time.Duration) {
	old, found := c.pending[key]
	if got := c.k.Move(key, d); got != (found && !c.closed) {
		c.t.Errorf("Move(%v) = %v, want %v", key, got, found)
	} else if got {
		c.pending[key] = c.in(d, old.v)
	}
}

func (c *keyedTrial) remove(key any) {
	old, found := c.pending[key]
	v, ok := c.k.Remove(key)
	if ok != found || v != old.v {
		c.t.Errorf("Remove(%v) = %d, %v, want %d, %v", key, v, ok, old.v, found)
	}
	if ok {
		c.end(key, v)
	}
}

func (c *keyedTrial) get(key any) {
	want, found := c.pending[key]
	v, left, ok := c.k.Get(key)
	now := time.Since(c.start)
	if ok != found || v != want.v || ok && (left < want.from-now || left > max(0, want.until-now)) {
		c.t.Errorf("Get(%v) = %d, %v, %v, want %d, %v", key, v, left, ok, want.v, want.from-now)
	}
}

func (c *keyedTrial) drain(most int) {
	for key, v := range c.k.Drain() {
		if _, nan := c.nans[v]; !nan && c.pending[key].v != v {
			c.t.Errorf("drained %v, %d", key, v)
		}
		if c.end(key, v); most == 0 {
			return
		}
		most--
	}
}

func (c *keyedTrial) check() {
	checkKeys(c.t, c.k)
	if n := c.k.Len(); n != len(c.pending)+len(c.nans) {
		c.t.Errorf("Len = %d, want %d", n, len(c.pending)+len(c.nans))
	}
	var got, want []int
	for key, v := range c.k.All() {
		if got = append(got, v); key == key && c.pending[key].v != v {
			c.t.Errorf("All yields %v, %d", key, v)
		}
	}
	for _, p := range c.pending {
		want = append(want, p.v)
	}
	want = slices.AppendSeq(want, maps.Keys(c.nans))
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		c.t.Errorf("All yields %v, want %v", got, want)
	}
	for key, p := range c.pending {
		if late := time.Since(c.start) - p.until; late > 0 && !c.closed {
			c.t.Errorf("%v is %v overdue", key, late)
		}
	}
}

// run reads operations of three bytes: the operation and two numbers.
func (c *keyedTrial) run(data []byte) {
	for ; len(data) >= 3 && !c.t.Failed(); data = data[3:] {
		what, a, b := data[0]%16, int(data[1]), int(data[2])
		d := time.Duration(a) << (b % 40) // up to three days
		if what >= 13 {
			time.Sleep(d % (24 * time.Hour))
			c.do(c.check)
			continue
		}
		key := float64(b % 11)
		if key == 10 {
			key = math.NaN()
		}
		c.do(func() { c.operate(what, a, key, d) })
	}
	c.do(func() { c.k.Close(); c.closed = true })
	c.do(func() {
		c.set(0.0, 0)
		c.setAt(4.0, time.Hour, 0, true)
		c.setIfAbsent(1.0, 0)
		c.move(2.0, 0)
		c.get(3.0)
		c.check()
		c.drain(1 << 30)
		c.check()
	})
}

func (c *keyedTrial) operate(what byte, a int, key any, d time.Duration) {
	switch what {
	case 0, 1:
		c.set(key, d)
	case 2, 3:
		c.setAt(key, d, time.Duration(a%7)*time.Second, what == 2)
	case 4, 5:
		c.setIfAbsent(key, d)
	case 6, 7, 8:
		c.move(key, d)
	case 9, 10:
		c.remove(key)
	case 11:
		c.get(key)
	case 12:
		if a%8 == 0 {
			c.drain(a / 8)
			return
		}
		c.set(key, -d)
	}
}

func runKeyedOps(t *testing.T, data []byte) {
	if len(data) == 0 {
		return
	}
	synctest.Test(t, func(t *testing.T) {
		cfg := Config{Shards: 1 << (data[0] % 3), Tick: time.Duration(data[0])*time.Millisecond/4 + minTick}
		if data[0]%5 == 0 {
			cfg.MaxPending = 1 + int(data[0])/5%7
		}
		newKeyedTrial(t, cfg).run(data[1:])
	})
}

func FuzzKeyed(f *testing.F) {
	f.Add([]byte{4, 0, 100, 20, 14, 200, 19, 9, 0, 31, 14, 255, 28})
	f.Add([]byte{5, 0, 9, 0, 0, 60, 1, 4, 255, 2, 0, 7, 10, 0, 0, 21, 12, 0, 0, 14, 255, 30})
	f.Add([]byte{0, 3, 77, 33, 6, 0, 33, 13, 0, 0, 12, 8, 0, 0, 1, 33, 13, 9, 30})
	f.Fuzz(runKeyedOps)
}

func TestAKeyedAgreesWithAMapOnFakeTime(t *testing.T) { runAtRandom(t, runKeyedOps) }
