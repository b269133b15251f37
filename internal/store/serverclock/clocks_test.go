package serverclock

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot/foliot/internal/quick"
	"github.com/foliot/foliot/internal/trustedclock"
)

// fakeClock is a clock with an offset from the monotonic one, and with drift.
type fakeClock struct {
	ahead time.Duration
	drift float64
}

var epoch = time.Unix(1_800_000_000, 0)

func (f fakeClock) at(m time.Duration) time.Time {
	return epoch.Add(m + f.ahead + time.Duration(float64(m)*f.drift))
}

// ask passes f's clock at m to c. The request takes to, the reply back.
func (f fakeClock) ask(c *Clocks, addr string, m, to, back time.Duration) {
	c.Observe(addr, f.at(m+to).UnixMicro(), m, m+to+back)
}

// way returns the travel time of a message.
func way(r *rand.Rand, mostMillis int64) time.Duration {
	return time.Duration(r.Int64N(mostMillis * int64(time.Millisecond)))
}

const micro = time.Microsecond // the resolution of a server's clock

func TestTheTimeIsNeverLaterThanThatOfAnyServer(t *testing.T) {
	for _, ahead := range []time.Duration{0, time.Hour, -time.Hour, 50 * time.Millisecond} {
		for _, drift := range []float64{0, 0.0004, -0.0004} {
			c, r := New(), rand.New(rand.NewPCG(1, 2))
			servers := map[string]fakeClock{"a": {ahead, drift}, "b": {ahead + 30*time.Millisecond, -drift}, "c": {ahead + 10*time.Millisecond, 0}}
			for m := time.Duration(0); m < time.Minute; m += 100 * time.Millisecond {
				if m%time.Second == 0 {
					for addr, s := range servers {
						s.ask(c, addr, m, way(r, 2), way(r, 2))
					}
				}
				if m < 10*time.Second {
					continue
				}
				at := m + 10*time.Millisecond
				first, last := servers["a"].at(at), servers["a"].at(at)
				for _, s := range servers {
					if s := s.at(at); s.Before(first) {
						first = s
					} else if s.After(last) {
						last = s
					}
				}
				earliest, latest := c.At(at)
				if off := first.Sub(earliest); off < -micro || off > 4*time.Millisecond {
					t.Fatalf("%v ahead, drift %v, at %v: the earliest is %v early", ahead, drift, m, off)
				}
				if off := latest.Sub(last); off < -micro || off > 4*time.Millisecond {
					t.Fatalf("%v ahead, drift %v, at %v: the latest is %v late", ahead, drift, m, off)
				}
			}
		}
	}
}

func TestAStepOfAServersClockIsFollowedWithItsNextReply(t *testing.T) {
	for _, step := range []time.Duration{time.Hour, -time.Hour, 20 * time.Millisecond, -20 * time.Millisecond} {
		c := New()
		fakeClock{}.ask(c, "a", time.Second, time.Millisecond, time.Millisecond)
		after := fakeClock{ahead: step}
		after.ask(c, "a", 2*time.Second, time.Millisecond, time.Millisecond)
		earliest, latest := c.At(2*time.Second + 2*time.Millisecond)
		if is := after.at(2*time.Second + 2*time.Millisecond); earliest.After(is) || latest.Before(is) || latest.Sub(earliest) > 5*time.Millisecond {
			t.Errorf("after a step of %v it is %v, and not from %v to %v", step, is, earliest, latest)
		}
	}
}

// Redis does not answer for a while. In that time its clock and the nodes'
// clocks may drift as sound clocks do.
func TestAnOutageDoesNotCountAsAClockStep(t *testing.T) {
	for _, away := range []time.Duration{time.Minute, 17 * time.Minute, 3 * time.Hour, 24 * time.Hour} {
		look := max(time.Second, quick.Of(0, away/1000))
		for _, drift := range []float64{0, 0.0004, -0.0004} {
			for _, set := range []time.Duration{0, 10 * time.Minute, 24 * time.Hour, -24 * time.Hour} {
				synctest.Test(t, func(t *testing.T) {
					c := New()
					servers := map[string]fakeClock{"a": {drift: drift}, "b": {ahead: 20 * time.Millisecond, drift: -drift}}
					answer := func() {
						for addr, f := range servers {
							f.ask(c, addr, c.Monotonic(), time.Millisecond, time.Millisecond)
						}
						c.Prune(func(addr string) bool { _, is := servers[addr]; return is })
					}
					answer()
					followed := trustedclock.NewWithin(func() (earliest, latest time.Time) { return c.Within(c.Monotonic()) }, nil)
					for ended := time.Now().Add(away); time.Now().Before(ended); time.Sleep(look) {
						if lag := followed.Lag(); lag != 0 {
							t.Fatalf("nothing is heard of Redis: the trusted time lags by %v", lag)
						}
					}
					for addr, f := range servers {
						servers[addr] = fakeClock{f.ahead + set, f.drift}
					}
					answer()
					if lag := followed.Lag(); max(set, 0) == 0 && lag != 0 || lag < set || lag > max(set, 0)+away/500 {
						t.Errorf("Redis was away for %v (drift %v), its clock was set by %v: the trusted time lags by %v", away, drift, set, lag)
					}
				})
			}
		}
	}
}

func TestTheTimeDoesNotGoBackUnlessAServersClockDoes(t *testing.T) {
	c, r, f := New(), rand.New(rand.NewPCG(3, 4)), fakeClock{drift: 0.0004}
	last := time.Time{}
	for m := time.Duration(0); m < 20*time.Second; m += 7 * time.Millisecond {
		f.ask(c, "a", m, way(r, 5), way(r, 5))
		now, _ := c.At(m + 10*time.Millisecond)
		if now.Before(last) {
			t.Fatalf("at %v it went back by %v", m, last.Sub(now))
		}
		last = now
	}
}

func TestASilentServerOrReplicaDoesNotHoldBackTheTime(t *testing.T) {
	c := New()
	all := func(string) bool { return true }
	fakeClock{ahead: -time.Minute}.ask(c, "a", 0, 0, 0)
	c.Prune(all)
	if now, _ := c.At(0); !now.Equal(epoch.Add(-time.Minute)) {
		t.Fatal("alone it counts however old:", now)
	}
	fakeClock{}.ask(c, "b", time.Second, 0, 0)
	c.Prune(all)
	if now, _ := c.At(time.Second); now.After(epoch) {
		t.Error("the earliest does not count:", now)
	}
	fakeClock{}.ask(c, "b", silentFor+time.Second, 0, 0)
	c.Prune(all)
	if now, _ := c.At(silentFor + time.Second); now.Before(epoch) {
		t.Error("one that says nothing holds the others:", now)
	}
	fakeClock{ahead: -time.Minute}.ask(c, "a", silentFor+time.Second, 0, 0)
	c.Prune(func(addr string) bool { return addr == "b" })
	if now, _ := c.At(silentFor + time.Second); now.Before(epoch) {
		t.Error("one that is no master holds the others:", now)
	}
	c.Prune(func(addr string) bool { return addr == "promoted" })
	if now, _ := c.At(silentFor + time.Second); now.Before(epoch) || now.After(epoch.Add(silentFor+time.Second)) {
		t.Error("the new master has not answered yet, and the time is not that of the old one:", now)
	}
}
