package idle

import (
	"errors"
	"math"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot/foliot/internal/fatal"
)

func TestPressureOutOfRangeIsClamped(t *testing.T) {
	g := New(Config{AllIdle: time.Hour}, func(int, Reason) Verdict { return Close })
	all := g.policy.all
	for p, want := range map[float64]float64{-1: 0, 0.25: 0.25, 2: 1, math.Inf(1): 1, math.Inf(-1): 0} {
		if g.SetPressure(p); g.pressure != want {
			t.Errorf("the pressure is %v after SetPressure(%v), want %v", g.pressure, p, want)
		}
	}
	g.SetPressure(0.5)
	if g.SetPressure(math.NaN()); g.pressure != 0 || g.policy.all != all {
		t.Errorf("after SetPressure(NaN) the pressure is %v, and a timeout has %d steps, want %d", g.pressure, g.policy.all, all)
	}
}

func TestKeepForZeroOrLessAsksAgainAfterTwoResolutions(t *testing.T) {
	for _, d := range []time.Duration{0, -time.Hour, math.MinInt64} {
		synctest.Test(t, func(t *testing.T) {
			var calls []time.Time
			g := New(Config{AllIdle: time.Minute, Resolution: time.Second}, func(int, Reason) Verdict {
				if calls = append(calls, time.Now()); len(calls) == 1 {
					return KeepFor(d)
				}
				return Close
			})
			var e Entry
			fatal.If(t, g.Track(1, &e))
			time.Sleep(2 * time.Minute)
			synctest.Wait()
			if len(calls) != 2 || calls[1].Sub(calls[0]) != 2*time.Second {
				t.Errorf("KeepFor(%v): called at %v", d, calls)
			}
		})
	}
}

func TestEveryResultOfNewConnIsAConn(t *testing.T) {
	g := New(Config{AllIdle: time.Hour}, func(net.Conn, Reason) Verdict { return Close })
	for _, state := range []string{"open", "closed"} {
		here, there := net.Pipe()
		defer there.Close()
		c, ok := NewConn(here, g).(Conn)
		if !ok || c.NetConn() != here {
			t.Fatalf("the connection of a group that is %s is not a Conn", state)
		}
		c.TouchRead()
		c.TouchWrite()
		c.Pong()
		if state == "closed" {
			if _, err := c.Write([]byte("x")); !errors.Is(err, ErrClosed) {
				t.Errorf("a refused connection returns %v", err)
			}
		}
		c.Close()
		g.Close()
	}
}
