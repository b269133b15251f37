package dispatch

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/task/recurrence"
)

// schedule creates a schedule that fires every d from now on.
func (b *bed) schedule(name string, d time.Duration, edits ...func(*task.ScheduleSpec)) {
	b.t.Helper()
	s := task.ScheduleSpec{
		Spec: spec(b.t, name, 0),
		Rule: recurrence.Rule{Every: d, CatchupWindow: recurrence.DefaultCatchupWindow, CatchupLimit: recurrence.DefaultCatchupLimit},
	}
	for _, edit := range edits {
		edit(&s)
	}
	if err := s.Validate(task.CeilMillis(time.Now())); err != nil {
		b.t.Fatalf("the test's own schedule: %v", err)
	}
	b.apply(task.PutSchedule{Spec: s})
}

// wantInstants checks the occurrences of a schedule: one for each of n
// instants, in order and no later than limit.
func (b *bed) wantInstants(n int, limit time.Duration) {
	b.t.Helper()
	b.wantCalls(n)
	b.wantLate(limit)
	seen := map[string]bool{}
	for _, name := range b.names() {
		if seen[name] {
			b.t.Errorf("%s came twice", name)
		}
		seen[name] = true
	}
}

func TestAScheduleIsFiredAtEachInstant(t *testing.T) {
	inBubble(t, Config{}, nil, accept, func(b *bed) {
		b.schedule("a", time.Second)
		b.schedule("b", 7*time.Minute)
		b.pass(15*time.Minute + 500*time.Millisecond)
		b.wantInstants(900+2, 2*tick)
		if s := b.Stats(); s.Fired != 902 || len(s.Skipped) != 0 {
			t.Errorf("stats: %+v", s)
		}
	})
}

func TestAPausedAndARemovedScheduleAreNotFired(t *testing.T) {
	inBubble(t, Config{}, nil, accept, func(b *bed) {
		b.schedule("a", time.Second)
		b.schedule("b", time.Second)
		b.pass(2500 * time.Millisecond)
		b.apply(task.PauseSchedule{Key: task.ScheduleKey("default", "a")}, task.RemoveSchedule{Key: task.ScheduleKey("default", "b")})
		b.pass(time.Hour)
		b.wantInstants(4, 2*tick)
		b.apply(task.PauseSchedule{Key: task.ScheduleKey("default", "a"), Resume: true})
		b.pass(2 * time.Second)
		b.wantInstants(6, 2*tick)
	})
}

func TestSchedulesNeedNoSlot(t *testing.T) {
	inBubble(t, Config{Slots: 2}, nil, hang, func(b *bed) {
		for i := range 10 {
			b.create(fmt.Sprint("t", i), 0, to(fmt.Sprintf("h%d.test", i)))
		}
		b.schedule("a", time.Second)
		b.pass(5500 * time.Millisecond)
		if s := b.Stats(); s.Fired != 5 || s.Delivered != 0 {
			t.Errorf("stats: %+v", s)
		}
	})
}

func TestAWaitingOccurrenceBeginsWhenThePreviousOneEnds(t *testing.T) {
	inBubble(t, Config{}, nil, after(2500*time.Millisecond), func(b *bed) {
		b.schedule("a", time.Second, func(s *task.ScheduleSpec) { s.Rule.Overlap = recurrence.BufferOne })
		began := time.Now()
		b.pass(9 * time.Second)
		var at []time.Duration
		for _, c := range b.seen() {
			at = append(at, c.at.Sub(began).Round(10*time.Millisecond))
		}
		if want := "[1s 3.5s 6s 8.5s]"; fmt.Sprint(at) != want {
			t.Errorf("they began at %v, want %s", at, want)
		}
	})
}

func TestALostHintOfAnEndDelaysTheNextOccurrenceByTwoSecondsAtMost(t *testing.T) {
	inBubble(t, Config{}, deafened, after(2500*time.Millisecond), func(b *bed) {
		b.schedule("a", time.Second, func(s *task.ScheduleSpec) { s.Rule.Overlap = recurrence.BufferOne })
		b.pass(time.Minute)
		if n := len(b.seen()); n < 12 {
			t.Errorf("%d occurrences in a minute", n)
		}
	})
}

// deafened returns a store that gives no hints.
func deafened(q store.DispatchStore) store.DispatchStore { return (&faults{deaf: true}).over(q) }

// TestMissedInstantsAreFiredBeforeTheNextPoll, with and without hints from the
// store.
func TestMissedInstantsAreFiredBeforeTheNextPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, Config{}, deafened, accept)
		b.schedule("a", time.Minute, func(s *task.ScheduleSpec) { s.Rule.Missed = recurrence.FireAll })
		b.pass(100*time.Minute + time.Second)
		b.start()
		b.pass(time.Second)
		if n := b.Stats().Fired; n != 100 {
			t.Errorf("%d of 100 instants were made up for in a second", n)
		}
		fatal.If(t, b.end())
	})
}

// TestSchedulesBeyondTheWindowAreFiredBeforeTheNextPoll: the other schedules
// are read while the first are fired.
func TestSchedulesBeyondTheWindowAreFiredBeforeTheNextPoll(t *testing.T) {
	inBubble(t, Config{WindowTasks: 64}, deafened, accept, func(b *bed) {
		for i := range 1000 {
			b.schedule(fmt.Sprint("s", i), time.Minute)
		}
		b.pass(61 * time.Second)
		if n := b.Stats().Fired; n != 1000 {
			t.Errorf("%d of 1000 were fired within a second", n)
		}
	})
}

// TestAStartAfterTwoWeeksFiresOrLogsMissedInstants: a server that starts again
// after two weeks makes up for as many instants as its schedules allow, and
// logs the skipped ones.
func TestAStartAfterTwoWeeksFiresOrLogsMissedInstants(t *testing.T) {
	for _, c := range []struct {
		missed recurrence.Missed
		runs   int
		log    string
	}{
		{recurrence.FireOnce, 1, "why=missed"}, {recurrence.SkipMissed, 0, "why=missed"}, {recurrence.FireAll, 20, "why=catchup_limit"},
	} {
		t.Run(c.missed.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log strings.Builder
				b := newBed(t, Config{Logger: slog.New(slog.NewTextHandler(&log, nil))}, nil, accept)
				b.schedule("a", 5*time.Second, func(s *task.ScheduleSpec) {
					s.Rule.Missed, s.Rule.CatchupLimit = c.missed, 20
				})
				b.pass(14*24*time.Hour + 3*time.Second)
				b.start()
				b.pass(time.Second)
				b.wantCalls(c.runs)
				for _, want := range []string{"why=catchup_window", "instants=10000", c.log} {
					if !strings.Contains(log.String(), want) {
						t.Errorf("the log does not say %s:\n%s", want, log.String())
					}
				}
				b.pass(10 * time.Second)
				b.wantCalls(c.runs + 2) // and continues as usual
				fatal.If(t, b.end())
			})
		})
	}
}

// Of three calls one fails before it is applied, and one after.
func TestAFailingStoreStillFiresEachInstantOnce(t *testing.T) {
	f := &faults{fail: func(op string, n int) (before, after error) {
		switch {
		case op == "fire" && n%3 == 1:
			return errBroken, nil
		case op == "fire" && n%3 == 2:
			return nil, errBroken
		}
		return nil, nil
	}}
	inBubble(t, Config{}, f.over, accept, func(b *bed) {
		b.schedule("a", time.Second, func(s *task.ScheduleSpec) { s.Rule.Missed = recurrence.FireAll })
		b.pass(time.Minute + 500*time.Millisecond)
		b.wantInstants(60, 2*time.Second)
	})
}

// fullQueue has no room for occurrences until room is set.
type fullQueue struct {
	store.DispatchStore
	room  atomic.Bool
	fires atomic.Int64
}

func (q *fullQueue) Transit(ctx context.Context, now task.Millis, steps []store.Step) ([]store.Reply, error) {
	if q.room.Load() || steps[0].Kind != store.Fire {
		return q.DispatchStore.Transit(ctx, now, steps)
	}
	q.fires.Add(int64(len(steps)))
	replies := make([]store.Reply, len(steps))
	for i := range replies {
		replies[i].Err = task.ErrFull
	}
	return replies, nil
}

func TestAFullStoreIsRetriedSlowlyAndLosesNothing(t *testing.T) {
	const schedules = 2*fireBatch + 1
	full := &fullQueue{}
	wrap := func(q store.DispatchStore) store.DispatchStore { full.DispatchStore = q; return full }
	inBubble(t, Config{}, wrap, accept, func(b *bed) {
		for i := range schedules {
			b.schedule(fmt.Sprint("s", i), 10*time.Minute)
		}
		b.pass(11 * time.Minute)
		b.wantCalls(0)
		if n := full.fires.Load(); n < 60 || n > 90*fireBatch {
			t.Errorf("in a minute it was asked to fire %d times", n)
		}
		full.room.Store(true)
		b.pass(5 * time.Second)
		b.wantCalls(schedules)
	})
}

// slowFires takes a while to fire.
type slowFires struct{ store.DispatchStore }

func (q slowFires) Transit(ctx context.Context, now task.Millis, steps []store.Step) ([]store.Reply, error) {
	if steps[0].Kind == store.Fire {
		time.Sleep(3 * time.Second)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return q.DispatchStore.Transit(ctx, now, steps)
}

func TestAStopFinishesTheFireUnderWayAndBeginsNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, Config{}, func(q store.DispatchStore) store.DispatchStore { return slowFires{q} }, accept)
		b.start()
		synctest.Wait()
		b.schedule("a", time.Second)
		b.pass(2 * time.Second) // the occurrence of the first instant is under way
		stopped := time.Now()
		fatal.If(t, b.end())
		if took := time.Since(stopped); took > 3*time.Second {
			t.Errorf("the stop took %v", took)
		}
		if s := b.get("@a"); s.Recur.Runs != 1 || b.Stats().Fired != 1 {
			t.Errorf("%d runs, %d counted", s.Recur.Runs, b.Stats().Fired)
		}
		b.wantCalls(0) // its occurrence waits for the next start
	})
}
