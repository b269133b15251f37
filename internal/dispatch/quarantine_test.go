package dispatch

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// lose puts due tasks into quarantine: their leases are lost, again and again.
// The dispatcher must not have been started.
func (b *bed) lose(names ...string) {
	b.t.Helper()
	ctx := b.t.Context()
	for range task.QuarantineAfter {
		now := millis()
		for _, name := range names {
			t := b.get(name)
			replies, err := b.store.Transit(ctx, now, store.Claims([]task.Claim{{Key: t.Key(), Lane: t.Lane(), Token: task.Token(name), Until: now}}))
			if err != nil || replies[0].Err != nil {
				b.t.Fatal(err, replies)
			}
		}
		if n, err := b.store.Reap(ctx, now, 1000); err != nil || n != len(names) {
			b.t.Fatalf("%d leases of %d were lost: %v", n, len(names), err)
		}
	}
}

// TestTheQuarantineSlotWakesWaitingQueues: no poll comes in time, and slots are
// short.
func TestTheQuarantineSlotWakesWaitingQueues(t *testing.T) {
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
		for i := range 19 { // each next to the one that has the quarantine slot
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
		fatal.If(t, b.end())
	})
}

// span returns the times of the first and the last call with a name that begins
// with prefix.
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

// lasting is a receiver that takes as long for each task as long says; other
// tasks hang.
func lasting(long map[string]time.Duration) receiver {
	return func(ctx context.Context, d task.Delivery) task.Outcome {
		if takes, ok := long[d.Task.Name]; ok {
			return after(takes)(ctx, d)
		}
		return hang(ctx, d)
	}
}

func TestAHangingTaskInQuarantineDelaysOthersByAMinuteAtMost(t *testing.T) {
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
		b.pass(quarantineTime - tick)
		b.wantCalls(1)
		b.pass(quarantineTime + 2*tick)
		b.wantState("next", task.Delivered)
		for _, name := range []string{"hangs", "slow"} {
			got := b.get(name)
			if got.Reclaims != task.QuarantineAfter || got.AttemptsUsed != 0 || got.Lane().Priority != task.Quarantine {
				t.Errorf("%s: %v in lane %v, %d reclaims, %d attempts spent; it should wait for its next turn", name, got.State, got.Lane(), got.Reclaims, got.AttemptsUsed)
			}
		}
		b.pass(time.Hour) // turns of 2, 4, 8 and 16 minutes, and one of 10
		b.wantState("slow", task.Delivered)
		fatal.If(t, b.end())
	})
}

func TestATaskInQuarantineKeepsItsFullTimeoutIfNoOtherWaits(t *testing.T) {
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
		b.pass(2 * tick) // now it is long enough
		b.wantState("next", task.Delivered)
		fatal.If(t, b.end())
	})
}

func TestAHangingTaskInQuarantineHoldsOnlyItsSlotForALimitedTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		timeout := 5 * time.Second
		b := newBed(t, Config{}, nil, (&flaky{outcome: refused, takes: timeout}).receive)
		b.create("hangs", 0, to("flaky"), retry(task.Retry{MinBackoff: time.Hour, MaxBackoff: time.Hour}))
		b.create("next", 0, to("next"))
		b.lose("hangs", "next")
		b.start()
		b.healthy("neighbour", 4)
		b.pass(200 * time.Millisecond)
		if late, n := b.p99("neighbour"); n != 800 || late > tick {
			t.Errorf("%d calls next to it, p99 %v", n, late)
		}
		b.wantState("next", task.Scheduled)
		b.pass(timeout)
		b.wantState("next", task.Delivered)
		if got := b.get("hangs"); got.Reclaims != 0 || got.Lane().Priority != task.Normal {
			t.Errorf("it was settled, and is in lane %v after %d reclaims", got.Lane(), got.Reclaims)
		}
		fatal.If(t, b.end())
	})
}
