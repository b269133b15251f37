package dispatch

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/dispatch/planner"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// in puts a task into a queue.
func in(queue string) edit { return func(s *task.Spec) { s.Queue = queue } }

// limit returns the settings of one queue of the default namespace.
func limit(name string, q settings.QueueSettings) *settings.Settings {
	q.Namespace, q.Name = task.DefaultNamespace, name
	return settings.NewSettings(&q)
}

// after is a receiver that replies after d.
func after(d time.Duration) receiver {
	return func(ctx context.Context, t task.Delivery) task.Outcome {
		if !pause(ctx, d) {
			return task.Outcome{Verdict: task.Interrupted}
		}
		return accept(ctx, t)
	}
}

// most returns how many calls were under way at once, if each took as long as
// takes. It counts calls with names that begin with prefix.
func (b *bed) most(prefix string, takes time.Duration) int {
	most := 0
	calls := slices.DeleteFunc(b.seen(), func(c call) bool { return !strings.HasPrefix(c.name, prefix) })
	for i, from := range calls {
		n := 0
		for _, c := range calls[i:] {
			if c.at.Sub(from.at) < takes {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}

func TestAQueueStartsAsManyTasksAsItsRateAllowsAndNoMore(t *testing.T) {
	for _, q := range []settings.QueueSettings{{Rate: 10, Burst: 5}, {Rate: 100}, {Rate: 3, Burst: 1}} {
		t.Run(fmt.Sprint(q.Rate, " a second, bursts of ", q.BurstOrDefault()), func(t *testing.T) {
			inBubble(t, Config{}, nil, accept, func(b *bed) {
				b.Configure(limit("limited", q))
				n := int(20 * q.Rate)
				began := time.Now()
				b.apply(crowd(t, "limited", n, in("limited"))...)
				b.create("ok0", 0, in("other"))
				b.pass(time.Millisecond)
				b.wantAliveOnTime(1)
				b.pass(21 * time.Second)
				b.wantCalls(n + 1)
				calls := slices.DeleteFunc(b.seen(), func(c call) bool { return c.name == "ok0" })
				for i, from := range calls {
					for j, to := range calls[i:] {
						if most := float64(q.BurstOrDefault()) + q.Rate*to.at.Sub(from.at).Seconds(); float64(j+1) > most+1e-6 {
							t.Fatalf("%d starts within %v", j+1, to.at.Sub(from.at))
						}
					}
				}
				took, ideal := calls[n-1].at.Sub(began).Seconds(), float64(n-q.BurstOrDefault())/q.Rate
				if late := 0.001 * math.Max(1, float64(n)/float64(q.BurstOrDefault())); took > ideal+late {
					t.Errorf("all had started after %.3f s, want %.3f", took, ideal)
				}
				if s := b.Stats(); s.Gone+s.Moved > 0 || s.Claimed != uint64(n+1) {
					t.Errorf("stats: %+v", s)
				}
			})
		})
	}
}

func TestARefusedClaimCostsNoToken(t *testing.T) {
	inBubble(t, Config{}, nil, accept, func(b *bed) {
		b.Configure(limit("limited", settings.QueueSettings{Rate: 1.0 / 60, Burst: 1}))
		for i := range 100 {
			b.create(fmt.Sprint("cancelled", i), time.Second, in("limited"))
		}
		b.create("ok0", time.Second, in("limited"))
		b.create("later", 2*time.Second, in("limited"))
		for i := range 100 {
			b.apply(task.Cancel{Key: key(fmt.Sprint("cancelled", i))})
		}
		b.pass(1100 * time.Millisecond)
		b.wantAliveOnTime(1)
		b.pass(59 * time.Second)
		b.wantCalls(1)
		b.pass(time.Second)
		b.wantCalls(2)
	})
}

func TestConcurrencyIsNeverExceededAndAlwaysUsed(t *testing.T) {
	const takes = 100 * time.Millisecond
	inBubble(t, Config{}, nil, after(takes), func(b *bed) {
		b.Configure(limit("limited", settings.QueueSettings{Concurrency: 7}))
		for i := range 5 {
			b.apply(crowd(t, fmt.Sprint("limited", i), 14, in("limited"), to(fmt.Sprint("host", i)))...)
		}
		b.create("ok0", 0, in("other"))
		b.pass(10*takes - 10*time.Millisecond)
		b.wantCalls(71)
		b.wantAliveOnTime(1)
		if n := b.most("limited", takes); n != 7 {
			t.Errorf("%d were under way", n)
		}
	})
}

func TestALimitForEachDestinationDoesNotDelayOtherDestinations(t *testing.T) {
	const takes = 100 * time.Millisecond
	inBubble(t, Config{}, nil, after(takes), func(b *bed) {
		b.Configure(limit("limited", settings.QueueSettings{PerDestination: 2}))
		for i, p := range []task.Priority{task.High, task.Normal, task.Low} {
			b.apply(crowd(t, fmt.Sprint("a", i), 10, in("limited"), to("a"), priority(p))...)
		}
		b.apply(crowd(t, "b", 10, in("limited"), to("b"))...)
		b.create("ok0", 0, to("a"))
		b.pass(5*takes - 10*time.Millisecond)
		b.wantCalls(10 + 10 + 1)
		b.wantAliveOnTime(1)
		b.pass(10 * takes)
		b.wantCalls(41)
		if na, nb := b.most("a", takes), b.most("b", takes); na != 2 || nb != 2 {
			t.Errorf("%d and %d were under way", na, nb)
		}
	})
}

func TestAPausedQueueTakesNoSlotAndDelaysNoOther(t *testing.T) {
	n := 20_000
	if testing.Short() {
		n = 2000
	}
	inBubble(t, Config{WindowTasks: 1000}, nil, accept, func(b *bed) {
		b.Configure(limit("paused", settings.QueueSettings{Paused: true}))
		for i := range 10 {
			b.apply(crowd(t, fmt.Sprint("paused", i), n/10, in("paused"), to(fmt.Sprint("host", i)))...)
		}
		for i := range 100 {
			b.create(fmt.Sprint("ok", i), 50*time.Millisecond)
			b.pass(5 * time.Millisecond)
		}
		b.pass(time.Second)
		b.wantAliveOnTime(100)
		b.wantCalls(100)
		if s := b.Stats(); s.Known != 0 || s.Lanes > 1 {
			t.Errorf("stats: %+v", s)
		}
		b.Configure(nil)
		b.pass(time.Millisecond)
		if n := len(b.seen()); n <= 100 {
			t.Error("nothing of the resumed queue came at once")
		}
		b.pass(10 * time.Second)
		b.wantCalls(100 + n)
	})
}

func TestAPauseHoldsKnownTasksAndEndsByItself(t *testing.T) {
	inBubble(t, Config{Poll: time.Hour}, nil, accept, func(b *bed) {
		for i := range 50 {
			b.create(fmt.Sprint("t", i), time.Second)
		}
		until := task.CeilMillis(time.Now().Add(90 * time.Second))
		b.Configure(limit("default", settings.QueueSettings{Paused: true, PausedUntil: until}))
		if s := b.Stats(); s.Known != 0 {
			t.Errorf("stats: %+v", s)
		}
		b.pass(89 * time.Second)
		b.wantCalls(0)
		b.pass(time.Second + tick)
		b.wantCalls(50)
	})
}

func TestAPurgeHoldsItsQueueUntilItIsDone(t *testing.T) {
	inBubble(t, Config{}, nil, accept, func(b *bed) {
		b.create("t", time.Second)
		b.Configure(limit("default", settings.QueueSettings{PurgeBefore: millis()}))
		b.create("new", time.Second)
		b.pass(10 * time.Second)
		b.wantCalls(0)
		b.Configure(limit("default", settings.QueueSettings{}))
		b.pass(tick)
		b.wantCalls(2)
	})
}

func TestATaskRunByHandIgnoresPauseAndRateButNotConcurrency(t *testing.T) {
	for name, q := range map[string]settings.QueueSettings{
		"paused": {Paused: true}, "purged": {PurgeBefore: 1}, "rate": {Rate: 1.0 / 3600, Burst: 1},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, Config{}, nil, accept, func(b *bed) {
				b.Configure(limit("default", q))
				b.create("first", 0) // takes the token
				b.pass(time.Second)
				n := len(b.seen())
				b.create("t", time.Hour)
				b.create("other", 0)
				b.pass(time.Second)
				b.apply(task.Run{Key: key("t")})
				b.pass(tick)
				b.wantCalls(n + 1)
				b.wantState("t", task.Delivered)
			})
		})
	}
	inBubble(t, Config{}, nil, accept, func(b *bed) { // nor does it use up a rate
		b.Configure(limit("default", settings.QueueSettings{Rate: 1, Burst: 1}))
		for i := range 10 {
			b.create(fmt.Sprint("hand", i), time.Hour)
			b.apply(task.Run{Key: key(fmt.Sprint("hand", i))})
		}
		b.create("t", 0)
		b.create("second", 0)
		b.pass(tick)
		b.wantCalls(11)
		b.pass(time.Second)
		b.wantCalls(12)
	})
	inBubble(t, Config{}, nil, after(time.Minute), func(b *bed) {
		b.Configure(limit("default", settings.QueueSettings{Concurrency: 1}))
		b.create("first", 0, patient)
		b.pass(time.Second)
		b.create("t", time.Hour)
		b.apply(task.Run{Key: key("t")})
		b.pass(58 * time.Second)
		b.wantCalls(1)
		b.pass(2 * time.Second)
		b.wantCalls(2)
	})
}

// startsWithNewLimits changes the limits of a queue with a backlog, and checks
// how many tasks have started soon after each change.
func startsWithNewLimits(b *bed, soon time.Duration) {
	b.t.Helper()
	for i, s := range []struct {
		q    settings.QueueSettings
		want int
	}{
		{settings.QueueSettings{Concurrency: 3}, 3},
		{settings.QueueSettings{Concurrency: 5}, 5},
		{settings.QueueSettings{Concurrency: 2}, 5},
		{settings.QueueSettings{PerDestination: 4}, 5},
		{settings.QueueSettings{PerDestination: 9}, 9},
		{settings.QueueSettings{Rate: 0.001, Burst: 4}, 13},
		{settings.QueueSettings{Rate: 0.001, Burst: 9}, 18},
		{settings.QueueSettings{Rate: 0.001, Burst: 9, Paused: true}, 18},
		{settings.QueueSettings{Concurrency: 20}, 20},
	} {
		b.Configure(limit("default", s.q))
		if i == 0 {
			b.apply(crowd(b.t, "t", 300, patient)...)
		}
		b.pass(soon)
		if n := len(b.seen()); n != s.want {
			b.t.Fatalf("with %+v %d have started, want %d", s.q, n, s.want)
		}
	}
}

func TestNewLimitsTakeEffectAtOnce(t *testing.T) {
	inBubble(t, Config{Poll: time.Hour}, nil, after(time.Minute), func(b *bed) { startsWithNewLimits(b, tick) })
	withRemotePermits(t, time.Millisecond, after(time.Minute), func(b *bed, _ *remotePermits) { startsWithNewLimits(b, 200*time.Millisecond) })
}

func TestAQueueReportsItsLimit(t *testing.T) {
	inBubble(t, Config{Slots: 4}, nil, after(time.Minute), func(b *bed) {
		want := func(l planner.Limit, next time.Duration, waiting int) {
			t.Helper()
			s := b.Queues()
			if len(s) != 1 || s[0].Limit != l || s[0].Waiting != waiting {
				t.Errorf("queues: %+v, want limit %q and %d waiting", s, l, waiting)
				return
			}
			if got := time.Until(s[0].Next); next != 0 && got.Round(tick) != next || next == 0 && !s[0].Next.IsZero() {
				t.Errorf("%s until %v, want in %v", l, got, next)
			}
		}
		configure := func(q settings.QueueSettings) {
			b.Configure(limit("default", q))
			b.pass(tick)
		}
		configure(settings.QueueSettings{Rate: 0.1, Burst: 1})
		b.apply(crowd(t, "t", 20, patient)...)
		b.pass(tick)
		want(planner.LimitRate, 10*time.Second-tick, 19)
		configure(settings.QueueSettings{Concurrency: 1})
		want(planner.LimitConcurrency, 0, 19)
		configure(settings.QueueSettings{PerDestination: 1})
		want(planner.LimitPerDestination, 0, 19)
		configure(settings.QueueSettings{Paused: true})
		want(planner.LimitPause, 0, 0)
		configure(settings.QueueSettings{Paused: true, PausedUntil: millis().Add(time.Second)})
		want(planner.LimitPause, time.Second-tick, 0)
		configure(settings.QueueSettings{PurgeBefore: 1})
		want(planner.LimitPurge, 0, 0)
		configure(settings.QueueSettings{})
		b.create("elsewhere", 0, to("elsewhere"), patient)
		b.create("here", 0, to("here"), patient)
		b.pass(tick)
		want(planner.LimitSlots, 0, 19)
		b.pass(time.Hour)
		b.wantCalls(22)
		if s := b.Queues(); len(s) != 0 {
			t.Errorf("queues without anything to do: %+v", s)
		}
	})
}

func TestALimitedQueueTakesNoMoreOfTheWindowThanItStarts(t *testing.T) {
	inBubble(t, Config{}, nil, accept, func(b *bed) {
		b.apply(crowd(t, "t", 3000, at(millis()+3000))...)
		b.pass(tick)
		if s := b.Stats(); s.Known != 3000 {
			t.Errorf("stats: %+v", s)
		}
		b.Configure(limit("default", settings.QueueSettings{Rate: 10, Burst: 1}))
		b.pass(tick)
		if s := b.Stats(); s.Known > reserve+50 {
			t.Errorf("stats: %+v", s)
		}
		b.Configure(nil)
		b.pass(5 * time.Second)
		b.wantCalls(3000)
	})
}

// TestAPausedQueueStillSendsDeadNotices: it does not delay a retry of the
// notice either.
func TestAPausedQueueStillSendsDeadNotices(t *testing.T) {
	tried := false
	r := func(ctx context.Context, d task.Delivery) task.Outcome {
		switch {
		case d.Task.Name == "dies":
			pause(ctx, time.Second)
			return task.Outcome{Verdict: task.Refusal, Status: 410, Reason: "gone", StartedAt: millis()}
		case d.Task.Queue == task.DeadQueue && !tried:
			tried = true
			return task.Outcome{Verdict: task.Failure, Status: 500, StartedAt: millis()}
		}
		return accept(ctx, d)
	}
	inBubble(t, Config{}, nil, r, func(b *bed) {
		b.Configure(limit("q", settings.QueueSettings{Rate: 1.0 / 3600, Burst: 1}))
		b.create("dies", 0, in("q"), func(s *task.Spec) { s.OnDead = "http://alarm/" })
		b.create("waits", 0, in("q"))
		b.pass(500 * time.Millisecond)
		b.Configure(limit("q", settings.QueueSettings{Paused: true}))
		b.pass(time.Minute)
		b.wantState("dies", task.Dead)
		b.wantState("waits", task.Scheduled)
		b.wantState("dies@dead.dies.1", task.Delivered)
	})
}

// generous grants every request.
type generous struct{}

func (generous) Permit(_ context.Context, asks []store.PermitAsk) []store.PermitReply {
	replies := make([]store.PermitReply, len(asks))
	for i, a := range asks {
		replies[i] = store.PermitReply{Lease: 6 * time.Second, Held: max(a.Keep, a.Want), Share: -1, Tokens: a.Tokens}
	}
	return replies
}

func TestAQueueWithLimitsContinuesWhenASlotIsFree(t *testing.T) {
	const last = 20 * time.Second // after that no other event comes
	limits := settings.NewSettings(&settings.QueueSettings{Namespace: "default", Name: "limited", Concurrency: 2, Version: 1})
	takes := func(ctx context.Context, d task.Delivery) task.Outcome {
		if strings.HasPrefix(d.Task.Name, "hog") {
			time.Sleep(10 * time.Second)
		}
		return accept(ctx, d)
	}
	// The window is smaller than the backlog: no read of it ends the wait by
	// chance.
	inBubble(t, Config{Slots: 8, WindowTasks: 100, Settings: limits, Permits: generous{}}, nil, takes, func(b *bed) {
		for round := range 40 { // a proven receiver may have the last slot
			for i := range 8 {
				b.create(fmt.Sprint("warm", round, "-", i), 0, in(fmt.Sprint("q", i)), to(fmt.Sprint("host", i)))
			}
			time.Sleep(100 * time.Millisecond)
		}
		time.Sleep(10 * time.Second)
		for i := range 8 {
			b.create(fmt.Sprint("hog", i), 0, in(fmt.Sprint("q", i)), to(fmt.Sprint("host", i)))
		}
		time.Sleep(time.Second)
		for i := range 500 {
			b.create(fmt.Sprint("limited", i), 0, in("limited"), to(fmt.Sprint("host", i%3)))
		}
		time.Sleep(9 * time.Second)
		freed, n, first := time.Now(), 0, time.Duration(0)
		time.Sleep(last)
		for _, c := range b.seen() {
			if strings.HasPrefix(c.name, "limited") {
				if n++; n == 1 {
					first = c.at.Sub(freed)
				}
			}
		}
		if n != 500 || first > 300*time.Millisecond {
			t.Errorf("%d of 500 begun, the first %v after there were slots", n, first)
		}
	})
}

// A node without permits requests none while an open breaker stops all lanes of
// the queue. Its breaker is the reason why the tasks wait.
func TestAQueueBehindAnOpenBreakerIsNotLimitedByItsConcurrency(t *testing.T) {
	limits := settings.NewSettings(&settings.QueueSettings{Namespace: "default", Name: "default", Concurrency: 10, Version: 1})
	failing := func(context.Context, task.Delivery) task.Outcome {
		return task.Outcome{Verdict: task.Failure, Status: 500, StartedAt: millis()}
	}
	inBubble(t, Config{Settings: limits, Permits: generous{}, BreakerMax: time.Hour}, nil, failing, func(b *bed) {
		for i := range 50 {
			b.create(fmt.Sprint("t", i), 0, patient)
		}
		b.pass(time.Minute)
		q, d := b.Queues(), b.Destinations()
		if len(q) != 1 || len(d) != 1 || q[0].Running != 0 || d[0].Breaker != planner.Open {
			t.Fatalf("the breaker is not open: %+v, %+v", q, d)
		}
		if q[0].Limit != planner.LimitBreaker {
			t.Errorf("the limit is %q, want %q", q[0].Limit, planner.LimitBreaker)
		}
	})
}
