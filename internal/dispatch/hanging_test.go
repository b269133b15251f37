package dispatch

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/dispatch/planner"
	"github.com/foliot/foliot/internal/task"
)

// p99 returns the lateness that 99 of 100 calls did not exceed, and the number
// of calls. It counts calls with names that begin with prefix.
func (b *bed) p99(prefix string) (time.Duration, int) {
	var late []time.Duration
	for _, c := range b.seen() {
		if strings.HasPrefix(c.name, prefix) {
			late = append(late, c.late)
		}
	}
	slices.Sort(late)
	if len(late) == 0 {
		return 0, 0
	}
	return late[len(late)*99/100], len(late)
}

// healthy sends 200 tasks a second, for the given number of seconds.
func (b *bed) healthy(prefix string, seconds int, edits ...edit) {
	for i := range 200 * seconds {
		b.create(fmt.Sprint(prefix, i), 100*time.Millisecond, append(edits, to("healthy"))...)
		b.pass(5 * time.Millisecond)
	}
}

// TestAHundredThousandTasksToAHangingHostDoNotShiftAHealthyQueue: the promise
// is 50 ms. Under fake time, when no processor is short, there is no shift at
// all.
func TestAHundredThousandTasksToAHangingHostDoNotShiftAHealthyQueue(t *testing.T) {
	stuck := 100_000
	if testing.Short() {
		stuck = 5000
	}
	slow := func(s *task.Spec) { s.Timeout = 5 * time.Second }
	gives := func(takes time.Duration) *flaky { return &flaky{outcome: refused, takes: takes} }
	inBubble(t, Config{Poll: time.Second, Grace: -1}, nil, gives(5*time.Second).receive, func(b *bed) {
		b.healthy("before", 1, in("healthy"))
		b.apply(crowd(t, "stuck", stuck, to("flaky"), in("stuck"), slow)...)
		b.healthy("neighbour", 8, in("healthy"))
		b.pass(time.Second)
		alone, _ := b.p99("before")
		crowded, n := b.p99("neighbour")
		if n != 1600 || crowded-alone > tick {
			t.Errorf("%d calls, their p99 was %v before and is %v next to it", n, alone, crowded)
		}
		if d := b.flakyHost(); d.Breaker == planner.Closed || d.Waiting > reserve {
			t.Errorf("the host: %+v", d)
		}
		if _, n := b.p99("stuck"); n > 200 {
			t.Errorf("%d attempts were burnt", n)
		}
	})
}

// TestHangingNewHostsTakeNoSlotsFromKnownHostsAndNotAllFromNewHosts: there are
// far more hosts than slots, all of them silent and new.
func TestHangingNewHostsTakeNoSlotsFromKnownHostsAndNotAllFromNewHosts(t *testing.T) {
	inBubble(t, Config{Slots: 256, Grace: -1}, nil, hangs, func(b *bed) {
		b.create("first", 0, to("healthy"))
		b.pass(time.Second)
		for i := range 400 {
			b.apply(crowd(t, fmt.Sprint("dead", i), 3, to(fmt.Sprint("dead", i)), patient)...)
		}
		b.pass(time.Second)
		b.healthy("ok-", 1)
		for i := range 20 {
			b.create(fmt.Sprint("ok-new", i), 0, to(fmt.Sprint("new", i)), in("other"))
			b.create(fmt.Sprint("ok-known", i), 0, to("healthy"), in("other"))
			b.pass(100 * time.Millisecond)
		}
		b.wantAliveOnTime(240)
		if _, n := b.p99("dead"); n > 256*3/4*3/4 {
			t.Errorf("%d attempts of one queue hang at new hosts, want three quarters of three quarters of the slots", n)
		}
	})
}

// TestManyQueuesOfSilentHostsLeaveRoomForTheNext: each queue takes its share of
// the slots that the queues before it have left.
func TestManyQueuesOfSilentHostsLeaveRoomForTheNext(t *testing.T) {
	inBubble(t, Config{Slots: 256, Grace: -1}, nil, hangs, func(b *bed) {
		for q := range 3 {
			var all []task.Change
			for i := range 250 {
				host := to(fmt.Sprintf("dead-%d-%d", q, i))
				all = append(all, task.Create{Spec: spec(t, fmt.Sprintf("dead-%d-%d", q, i), 0, host, in(fmt.Sprint("q", q)), patient)})
			}
			b.apply(all...)
			b.pass(100 * time.Millisecond)
		}
		b.create("ok0", 0, to("new"), in("new"))
		b.pass(time.Second)
		b.wantAliveOnTime(1)
	})
}

// TestSilentHostsDoNotBlockNewHosts: receivers that are known to be
// silent have a quarter of the slots.
func TestSilentHostsDoNotBlockNewHosts(t *testing.T) {
	inBubble(t, Config{Slots: 64, Grace: -1, BreakerFailures: -1}, nil, (&flaky{outcome: refused, takes: 5 * time.Second}).receive, func(b *bed) {
		for i := range 300 {
			b.create(fmt.Sprint("silent", i), 0, to(fmt.Sprint("flaky", i)), stubborn, func(s *task.Spec) { s.Timeout = 5 * time.Second })
		}
		b.pass(time.Minute) // now all of them are suspect
		for i := range 100 {
			b.create(fmt.Sprint("ok", i), 0, to(fmt.Sprint("new", i)))
			b.pass(100 * time.Millisecond)
		}
		b.wantAliveOnTime(100)
	})
}
