package dispatch

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/foliot/foliot/internal/task"
)

// withOffice runs f with a bed whose limits are counted at a counter.
func withOffice(t *testing.T, wide time.Duration, r receiver, f func(b *bed, c *counter)) {
	t.Helper()
	var c *counter
	wrap := func(q task.Queue) task.Queue {
		c = newCounter(wide)
		return struct {
			task.Queue
			task.Permits
		}{q, c}
	}
	inBubble(t, Config{}, wrap, r, func(b *bed) { f(b, c) })
}

func TestQueuesWithoutLimitsAndPausedOnesAskNothing(t *testing.T) {
	withOffice(t, time.Millisecond, accept, func(b *bed, c *counter) {
		b.Configure(limit("paused", task.QueueSettings{Paused: true, Concurrency: 5, Rate: 10}))
		b.apply(crowd(t, "p", 20, in("paused"))...)
		b.apply(crowd(t, "t", 100)...)
		b.pass(time.Minute)
		b.wantCalls(100)
		if n := c.asks(); n > 0 {
			t.Errorf("%d asks", n)
		}
	})
}

// TestTheWayToTheStoreLimitsNothing: five under way at once, however short they
// are and however far away the store is; and with some asks for hundreds of tasks.
func TestTheWayToTheStoreLimitsNothing(t *testing.T) {
	const takes = 10 * time.Millisecond
	withOffice(t, 20*time.Millisecond, after(takes), func(b *bed, c *counter) {
		b.Configure(limit("limited", task.QueueSettings{Concurrency: 5, Rate: 1000, Burst: 1000}))
		for i := range 5 {
			b.apply(crowd(t, fmt.Sprint("limited", i), 100, in("limited"), to(fmt.Sprint("host", i)), at(millis()+1000))...)
		}
		b.pass(1999 * time.Millisecond)
		b.wantCalls(500)
		if n := b.most("limited", takes); n != 5 {
			t.Errorf("%d were under way at once", n)
		}
		if n := c.asks(); n > 60 {
			t.Errorf("%d asks", n)
		}
	})
}

func TestATaskIsNotLateForWantOfAPermit(t *testing.T) {
	withOffice(t, 20*time.Millisecond, accept, func(b *bed, c *counter) {
		b.Configure(limit("limited", task.QueueSettings{Concurrency: 5, PerDestination: 3, Rate: 100}))
		for i := range 20 {
			b.create(fmt.Sprint("t", i), time.Duration(i+1)*7*time.Second, in("limited"))
		}
		b.pass(3 * time.Minute)
		b.wantCalls(20)
		b.wantLate(tick)
		if n := c.asks(); n > 20*9 {
			t.Errorf("%d asks", n)
		}
	})
}

func TestWhatIsNotUsedIsGivenBack(t *testing.T) {
	withOffice(t, time.Millisecond, after(100*time.Millisecond), func(b *bed, c *counter) {
		b.Configure(limit("limited", task.QueueSettings{Concurrency: 50, PerDestination: 20, Rate: 1000}))
		b.apply(crowd(t, "t", 100, in("limited"))...)
		b.pass(time.Second)
		b.wantCalls(100)
		b.pass(1500 * time.Millisecond)
		if permits, tokens := c.out(); permits+tokens > 0 {
			t.Errorf("%d permits and %d tokens are held for nothing", permits, tokens)
		}
		n := c.asks()
		b.pass(time.Hour)
		if c.asks() > n {
			t.Errorf("%d asks by a queue that has nothing to do", c.asks()-n)
		}
		if q := b.Queues(); len(q) > 0 {
			t.Errorf("queues without anything to do: %+v", q)
		}
	})
}

func TestAStoppingNodeGivesItsPermitsBack(t *testing.T) {
	withOffice(t, time.Millisecond, after(3*time.Second), func(b *bed, c *counter) {
		b.Configure(limit("limited", task.QueueSettings{Concurrency: 50, Rate: 1000}))
		b.apply(crowd(t, "t", 5, in("limited"), patient)...)
		b.pass(time.Second)
		b.apply(crowd(t, "u", 50, in("limited"), patient)...)
		b.pass(100 * time.Millisecond)
		b.stop()
		b.pass(2500 * time.Millisecond)
		if permits, _ := c.out(); permits != 45 {
			t.Errorf("%d permits are held while 45 attempts are under way", permits)
		}
		if err := b.end(); err != nil {
			t.Error(err)
		}
		if permits, tokens := c.out(); permits+tokens > 0 {
			t.Errorf("%d permits and %d tokens are held after the end", permits, tokens)
		}
	})
}

func TestWithoutTheStoreNothingStartsInLimitedQueuesAfterTheLease(t *testing.T) {
	var log strings.Builder
	var c *counter
	wrap := func(q task.Queue) task.Queue {
		c = newCounter(time.Millisecond)
		return struct {
			task.Queue
			task.Permits
		}{q, c}
	}
	conf := Config{Logger: slog.New(slog.NewTextHandler(&log, nil))}
	inBubble(t, conf, wrap, after(100*time.Millisecond), func(b *bed) {
		b.Configure(limit("limited", task.QueueSettings{Concurrency: 2}))
		b.apply(crowd(t, "t", 1000, in("limited"))...)
		b.pass(time.Second)
		n := len(b.seen())
		c.set(true)
		b.pass(5 * time.Second)
		if len(b.seen()) < n+80 {
			t.Errorf("the permits did not hold until their lease ended: %d attempts, then %d", n, len(b.seen()))
		}
		b.pass(2 * time.Second)
		n = len(b.seen())
		asks := c.asks()
		b.create("ok0", 0, in("other"))
		b.pass(10 * time.Second)
		if len(b.seen()) != n+1 {
			t.Errorf("%d attempts without permits", len(b.seen())-n-1)
		}
		if more := c.asks() - asks; more > 15 {
			t.Errorf("%d asks in ten seconds in which nobody answered", more)
		}
		if n := strings.Count(log.String(), "could not"); n > 3 {
			t.Errorf("it said %d times:\n%s", n, log.String())
		}
		c.set(false)
		b.pass(2 * time.Second)
		if len(b.seen()) < n+20 {
			t.Errorf("when the store was there again %d attempts started", len(b.seen())-n)
		}
	})
}

func TestNewSharedLimitsTakeEffectAtOnce(t *testing.T) {
	withOffice(t, time.Millisecond, after(time.Minute), func(b *bed, _ *counter) {
		steps := []struct {
			q    task.QueueSettings
			want int
		}{
			{task.QueueSettings{Concurrency: 3}, 3},
			{task.QueueSettings{Concurrency: 5}, 5},
			{task.QueueSettings{Concurrency: 2}, 5},
			{task.QueueSettings{PerDestination: 4}, 5},
			{task.QueueSettings{PerDestination: 9}, 9},
			{task.QueueSettings{Rate: 0.001, Burst: 4}, 13},
			{task.QueueSettings{Rate: 0.001, Burst: 9}, 18},
			{task.QueueSettings{Rate: 0.001, Burst: 9, Paused: true}, 18},
			{task.QueueSettings{Concurrency: 20}, 20},
		}
		b.Configure(limit("default", steps[0].q))
		b.apply(crowd(t, "t", 300, patient)...)
		for _, s := range steps {
			b.Configure(limit("default", s.q))
			b.pass(200 * time.Millisecond)
			if n := len(b.seen()); n != s.want {
				t.Fatalf("with %+v %d have started, want %d", s.q, n, s.want)
			}
		}
	})
}

// flight is an ask that is under way.
type flight struct {
	node    int
	stake   *LimitLease
	reply   task.PermitReply
	carried bool
	ask     task.PermitAsk
	sent    time.Duration
}

// start is one that was sent, or may be.
type start struct {
	pick *Pick
	at   time.Duration
}

// TestAgendasThatShareLimitsKeepThem: the pure cores of some nodes, an office, and
// between them asks and replies that take their time, get lost, or find a lease ended.
func TestAgendasThatShareLimitsKeepThem(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := &task.QueueSettings{Name: "q"}
		kinds := rapid.IntRange(1, 3).Draw(t, "limits")
		if kinds&1 > 0 {
			q.Concurrency = rapid.IntRange(1, 6).Draw(t, "concurrency")
		}
		if kinds&2 > 0 {
			q.Rate, q.Burst = rapid.Float64Range(1, 100).Draw(t, "rate"), rapid.IntRange(1, 20).Draw(t, "burst")
		}
		o := newOffice(time.Second)
		crowded := rapid.Bool().Draw(t, "crowded")
		if crowded {
			o.share = func(_, held int) (int, time.Duration) {
				return rapid.IntRange(0, held).Draw(t, "share"), 20 * time.Millisecond
			}
		}
		agendas := make([]*Planner, 3)
		claiming, running := make([][]*Pick, 3), make([][]*Pick, 3)
		for i := range agendas {
			a := NewPlanner(Rules{Window: 5 * time.Second, Tasks: 1000}, 100)
			a.rules.Shared = true
			a.Configure(noon, task.NewSettings(q))
			agendas[i] = a
		}
		var flights []*flight
		var starts []start
		steady, made := time.Second, 0
		for range rapid.IntRange(50, 400).Draw(t, "steps") {
			steady += time.Duration(rapid.SampledFrom([]int{0, 0, 0, 1, 5, 60, 700}).Draw(t, "ms")) * time.Millisecond
			now := noon + task.Millis(steady/time.Millisecond)
			n := rapid.IntRange(0, 2).Draw(t, "node")
			a := agendas[n]
			a.Tick(steady)
			if s := stakeOf(a); s != nil {
				for _, b := range []*Wakeup{&s.bell, &s.queue.bell} {
					if b.IsSet() && b.Monotonic <= steady {
						a.Wake(b, now)
					}
				}
			}
			switch rapid.IntRange(0, 7).Draw(t, "what") {
			case 0:
				for range rapid.SampledFrom([]int{1, 2, 5, 40}).Draw(t, "tasks") {
					made++
					a.Hint(now, task.Entry{Name: fmt.Sprint("t", made), Lane: task.Lane{Queue: "q", Priority: task.Normal, Destination: "h"}, Due: now})
				}
			case 1, 2:
				picks := a.Take(now, 10)
				for i := range picks {
					claiming[n] = append(claiming[n], &picks[i])
				}
				if rapid.IntRange(0, 3).Draw(t, "slow claim") == 0 {
					break
				}
				fallthrough
			case 7: // claims are answered
				for _, p := range claiming[n] {
					if rapid.IntRange(0, 9).Draw(t, "refused") == 0 {
						a.Release(p, now, Nothing, nil)
						continue
					}
					lapsed := !a.Covered(p)
					a.Begin(p)
					if lapsed {
						a.Release(p, now, Unsent, nil)
						continue
					}
					starts = append(starts, start{p, steady})
					running[n] = append(running[n], p)
				}
				claiming[n] = nil
			case 3:
				if len(running[n]) > 0 {
					i := rapid.IntRange(0, len(running[n])-1).Draw(t, "which")
					p, e := running[n][i], Replied
					if rapid.IntRange(0, 4).Draw(t, "unsent") == 0 {
						e = Unsent
						starts = slices.DeleteFunc(starts, func(s start) bool { return s.pick == p })
					}
					a.Release(p, now, e, nil)
					running[n] = slices.Delete(running[n], i, i+1)
				}
			case 4:
				stakes, asks := a.Asks(now, 10)
				for i, s := range stakes {
					flights = append(flights, &flight{node: n, stake: s, ask: asks[i], sent: steady})
				}
			case 5, 6: // an ask comes to the office, or a reply back
				for _, f := range flights {
					if f.node == n && !f.carried {
						if rapid.IntRange(0, 9).Draw(t, "lost") > 0 {
							f.reply = o.permit(steady, n, f.ask)
						} else {
							f.reply.Err = errAway
						}
						f.carried = true
						if rapid.IntRange(0, 9).Draw(t, "reply lost") == 0 {
							f.reply = task.PermitReply{Err: context.DeadlineExceeded}
						}
						break
					}
					if f.node == n && f.carried {
						a.Granted(f.stake, f.reply, f.sent, now)
						flights = slices.DeleteFunc(flights, func(g *flight) bool { return g == f })
						break
					}
				}
			}
			sum := 0
			for i, a := range agendas {
				if s := stakeOf(a); s != nil && s.lives(steady) {
					sum += max(len(running[i]), s.held)
				}
			}
			if lost := lapsedAny(agendas, running, steady); !lost && q.Concurrency > 0 && sum > q.Concurrency {
				t.Fatalf("%d are under way, or may be, of %d", sum, q.Concurrency)
			}
			if q.Rate > 0 {
				for i, s := range starts {
					if most := float64(q.Burst) + q.Rate*(steady-s.at).Seconds(); float64(len(starts)-i) > most+1e-6 {
						t.Fatalf("%d starts within %v, where %f may be", len(starts)-i, steady-s.at, most)
					}
				}
			}
		}
	})
}

func stakeOf(a *Planner) *LimitLease {
	if q := a.queues[queueKey{"", "q"}]; q != nil {
		return q.stake
	}
	return nil
}

// lapsedAny reports whether some node has more under way than it holds: its lease was
// lost, and others may have it.
func lapsedAny(agendas []*Planner, running [][]*Pick, steady time.Duration) bool {
	for i, a := range agendas {
		if s := stakeOf(a); s != nil && len(running[i]) > 0 && (!s.lives(steady) || len(running[i]) > s.held) {
			return true
		}
	}
	return false
}

// TestTokensThatAreGivenBackAreNotUsed: not even before the store has them.
func TestTokensThatAreGivenBackAreNotUsed(t *testing.T) {
	a, o, now := NewPlanner(Rules{Window: 5 * time.Second, Tasks: 1000}, 100), newOffice(time.Second), noon
	a.rules.Shared = true
	a.Configure(now, task.NewSettings(&task.QueueSettings{Name: "q", Rate: 1, Burst: 5}))
	a.Tick(time.Second)
	hint := func(name string) {
		a.Hint(now, task.Entry{Name: name, Lane: task.Lane{Queue: "q", Priority: task.Normal, Destination: "h"}, Due: now})
	}
	ask := func() (grant func()) {
		t.Helper()
		stakes, asks := a.Asks(now, 10)
		if len(asks) != 1 {
			t.Fatalf("%d asks", len(asks))
		}
		r, sent := o.permit(a.steady, 0, asks[0]), a.steady
		return func() { a.Granted(stakes[0], r, sent, now) }
	}
	for i := range 4 {
		hint(fmt.Sprint("t", i))
	}
	ask()()
	for _, it := range slices.Clone(a.lanes[task.Lane{Queue: "q", Priority: task.Normal, Destination: "h"}].order.items) {
		a.forget(stakeOf(a).queue.lanes[0], it) // they were cancelled
	}
	a.place(stakeOf(a).queue.lanes[0], now)
	a.Tick(time.Second + 2*keepTokens)
	stakeOf(a).look(a, now)
	grant := ask()
	hint("late")
	if n := len(a.Take(now, 10)); n != 0 {
		t.Errorf("%d have started with tokens that were given back", n)
	}
	grant()
	ask()()
	if n := len(a.Take(now, 10)); n != 1 {
		t.Errorf("%d have started with a new token", n)
	}
}
