package dispatch

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/foliot/foliot/internal/task"
)

// TestNobodyStarvesAtTheGate: queues whose tasks in quarantine never end, some
// of them beside routine work that never ends either, where slots are short. In
// any order in which attempts end, each lane goes through in its turn.
func TestNobodyStarvesAtTheGate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := NewPlanner(Rules{Window: 5 * time.Second, Tasks: 1_000_000}, rapid.IntRange(1, 12).Draw(t, "slots"))
		var suspects []task.Lane
		most, n := 0, 0
		put := func(l task.Lane) {
			n++
			a.targetOf(targetKey{l.Namespace, l.Destination}).class = proven // no other class is short
			a.Hint(noon, task.Entry{Name: fmt.Sprint("t", n), Lane: l, Due: noon - task.Millis(n)})
		}
		queues := rapid.IntRange(1, 5).Draw(t, "queues")
		for q := range queues {
			l := task.Lane{Namespace: fmt.Sprint("ns", q%2), Queue: fmt.Sprint("q", q)}
			hosts := rapid.IntRange(1, 3).Draw(t, "hosts")
			most = max(most, hosts)
			for h := range hosts {
				l.Priority, l.Destination = task.Quarantine, fmt.Sprint("h", h)
				suspects = append(suspects, l)
				put(l)
			}
			l.Priority = task.High
			for range rapid.SampledFrom([]int{0, 20}).Draw(t, "routine") {
				put(l)
			}
		}

		through, waited := 0, map[task.Lane]int{}
		var running []Pick
		for range 500 {
			for _, p := range a.Take(noon, 100) {
				a.Begin(&p)
				running = append(running, p)
				put(p.lane.name) // as much waits as before
				if !p.lane.quarantined() {
					continue
				}
				through++
				for _, l := range suspects {
					waited[l]++
				}
				waited[p.lane.name] = 0
			}
			if k := count(running, inQuarantine); k > 1 {
				t.Fatalf("%d attempts in quarantine are under way", k)
			}
			for l, turns := range waited {
				if turns >= queues*most {
					t.Fatalf("%v waits while %d others had their turn", l, turns)
				}
			}
			i := rapid.IntRange(0, len(running)-1).Draw(t, "ends")
			p := running[i]
			running = slices.Delete(running, i, i+1)
			a.Release(&p, noon, Replied, nil)
		}
		if through < 500/20 { // a slot of at most twelve, and a gate that is open at each
			t.Fatalf("%d attempts went through", through)
		}
	})
}

func count(picks []Pick, is func(*Pick) bool) (n int) {
	for i := range picks {
		if is(&picks[i]) {
			n++
		}
	}
	return n
}

func TestWhatALimitStopsDoesNotStandAtTheGate(t *testing.T) {
	lane := func(queue string) task.Lane { return task.Lane{Queue: queue, Priority: task.Quarantine} }
	for name, q := range map[string]task.QueueSettings{
		"paused": {Paused: true}, "rate": {Rate: 1, Burst: 1}, "concurrency": {Concurrency: 1},
	} {
		t.Run(name, func(t *testing.T) {
			a := NewPlanner(Rules{Window: 5 * time.Second, Tasks: 1000}, 8)
			q.Name = "limited"
			a.Configure(noon, task.NewSettings(&q))
			if name != "paused" { // use up what it has
				a.Hint(noon, task.Entry{Name: "routine", Lane: task.Lane{Queue: "limited"}, Due: noon})
				p := a.Take(noon, 1)[0]
				a.Begin(&p)
			}
			a.Hint(noon, task.Entry{Name: "stopped", Lane: lane("limited"), Due: noon - 1000})
			a.Hint(noon, task.Entry{Name: "t", Lane: lane("free"), Due: noon})
			want(t, "through the gate went", names(a, noon, 10), "t")
			a.Configure(noon, nil)
			a.Hint(noon, task.Entry{Name: "stopped", Lane: lane("limited"), Due: noon - 1000}) // as a read would find it
			want(t, "without the limit", names(a, noon, 10), "stopped")
		})
	}
}

func TestAQueueWhoseTasksWaitAtTheGateIsKeptByNoLimit(t *testing.T) {
	a := NewPlanner(Rules{Window: 5 * time.Second, Tasks: 1000}, 4)
	for _, name := range []string{"a", "b"} {
		a.Hint(noon, task.Entry{Name: name, Lane: task.Lane{Queue: "q", Priority: task.Quarantine}, Due: noon})
	}
	if n := len(a.Take(noon, 10)); n != 1 {
		t.Fatalf("%d went through", n)
	}
	q := a.queues[queueKey{"", "q"}]
	if l, _ := a.limitOf(q, noon.Time()); l != NoLimit {
		t.Errorf("limited by %q", l)
	}
	a.slots.take(unknown)
	a.slots.take(unknown)
	if l, _ := a.limitOf(q, noon.Time()); l != LimitSlots {
		t.Errorf("without a slot limited by %q", l)
	}
}

// lose puts tasks that are due into quarantine: their leases are lost, again and
// again. The dispatcher must not have been started.
func (b *bed) lose(names ...string) {
	b.t.Helper()
	ctx := b.t.Context()
	for range task.QuarantineAfter {
		now := millis()
		for _, name := range names {
			t := b.get(name)
			replies, err := b.store.Claim(ctx, now, []task.Claim{{Key: t.Key(), Lane: t.Lane(), Token: task.Token(name), Until: now}})
			if err != nil || replies[0].Err != nil {
				b.t.Fatal(err, replies)
			}
		}
		if n, err := b.store.Reap(ctx, now, 1000); err != nil || n != len(names) {
			b.t.Fatalf("%d leases of %d were lost: %v", n, len(names), err)
		}
	}
}

// TestTheGateWakesWhoWaits: no poll helps here, and slots are short.
func TestTheGateWakesWhoWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, Config{Poll: time.Hour, Slots: 4}, nil, after(100*time.Millisecond))
		var names []string
		for i := range 20 {
			name := fmt.Sprintf("lost%02d", i)
			names = append(names, name)
			b.create(name, 0, to(fmt.Sprint("host", i%3)), in(fmt.Sprint("q", i%2)))
		}
		b.lose(names...)
		b.start()
		synctest.Wait()
		for i := range 19 { // each beside the one that has the gate
			b.create(fmt.Sprint("routine", i), 50*time.Millisecond, to("host0"))
			b.pass(100 * time.Millisecond)
		}
		b.pass(time.Second)
		b.wantCalls(39)
		if n := b.most("lost", 100*time.Millisecond); n != 1 {
			t.Errorf("%d were under way at once", n)
		}
		for _, c := range b.seen() {
			if c.name[:4] != "lost" && c.late > tick {
				t.Errorf("%s was late by %v", c.name, c.late)
			}
		}
		if first, last := b.span("lost"); last.Sub(first) > 1900*time.Millisecond+20*tick {
			t.Errorf("20 attempts of 100 ms began over %v", last.Sub(first))
		}
		if got := b.get("lost07"); got.State != task.Delivered || got.Reclaims != 0 {
			t.Errorf("%v after %d reclaims", got.State, got.Reclaims)
		}
		if err := b.end(); err != nil {
			t.Error(err)
		}
	})
}

// span returns when the first and the last call came of what begins with prefix.
func (b *bed) span(prefix string) (first, last time.Time) {
	for _, c := range b.seen() {
		if len(c.name) >= len(prefix) && c.name[:len(prefix)] == prefix {
			if first.IsZero() {
				first = c.at
			}
			last = c.at
		}
	}
	return first, last
}

// lasting is a receiver that takes that long for each task; others hang.
func lasting(long map[string]time.Duration) receiver {
	return func(ctx context.Context, d task.Delivery) task.Outcome {
		if takes, ok := long[d.Task.Name]; ok {
			return after(takes)(ctx, d)
		}
		return hang(ctx, d)
	}
}

func TestATaskInQuarantineThatHangsKeepsOthersWaitingForAMinuteAtMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, Config{}, nil, lasting(map[string]time.Duration{"slow": 10 * time.Minute, "next": 0}))
		hour := func(s *task.Spec) { s.Timeout, s.Retry.MaxAttempts = time.Hour, 1 }
		b.create("hangs", 0, to("flaky"), hour)
		b.pass(time.Second)
		b.create("slow", 0, to("slow"), hour, in("another"))
		b.pass(time.Second)
		b.create("next", 0, to("next"))
		b.lose("hangs", "slow", "next")
		b.start()
		b.pass(patience - tick)
		b.wantCalls(1)
		b.pass(patience + 2*tick)
		b.wantState("next", task.Delivered)
		for _, name := range []string{"hangs", "slow"} {
			got := b.get(name)
			if got.Reclaims != task.QuarantineAfter || got.Spent != 0 || got.Lane().Priority != task.Quarantine {
				t.Errorf("%s: %v in lane %v, %d reclaims, %d attempts spent; it should wait for its next turn", name, got.State, got.Lane(), got.Reclaims, got.Spent)
			}
		}
		b.pass(time.Hour) // turns of 2, 4, 8 and 16 minutes, and one of 10
		b.wantState("slow", task.Delivered)
		if err := b.end(); err != nil {
			t.Error(err)
		}
	})
}

func TestATaskInQuarantineHasItsWholeTimeWhileNobodyWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, Config{}, nil, lasting(map[string]time.Duration{"next": 0}))
		b.create("hangs", 0, to("flaky"), func(s *task.Spec) { s.Timeout = time.Hour })
		b.create("next", 0, to("next"))
		b.lose("hangs", "next")
		b.apply(task.Patch{Key: key("next"), When: &task.When{Relative: true, Delay: 5 * time.Minute}})
		b.start()
		b.pass(5*time.Minute - tick)
		if got := b.get("hangs"); got.State != task.Running || got.Reclaims != task.QuarantineAfter {
			t.Errorf("%v with %d reclaims", got.State, got.Reclaims)
		}
		b.pass(2 * tick) // and then it is long enough
		b.wantState("next", task.Delivered)
		if err := b.end(); err != nil {
			t.Error(err)
		}
	})
}

func TestATaskInQuarantineThatHangsHoldsTheGateAloneAndNotForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		timeout := 5 * time.Second
		b := newBed(t, Config{}, nil, (&flaky{outcome: refused, takes: timeout}).receive)
		b.create("hangs", 0, to("flaky"), retry(task.Retry{MinBackoff: time.Hour, MaxBackoff: time.Hour}))
		b.create("next", 0, to("next"))
		b.lose("hangs", "next")
		b.start()
		b.healthy("beside", 4)
		b.pass(200 * time.Millisecond)
		if late, n := b.p99("beside"); n != 800 || late > tick {
			t.Errorf("%d calls beside it, p99 %v", n, late)
		}
		b.wantState("next", task.Scheduled)
		b.pass(timeout)
		b.wantState("next", task.Delivered)
		if got := b.get("hangs"); got.Reclaims != 0 || got.Lane().Priority != task.Normal {
			t.Errorf("it was settled, and is in lane %v after %d reclaims", got.Lane(), got.Reclaims)
		}
		if err := b.end(); err != nil {
			t.Error(err)
		}
	})
}
