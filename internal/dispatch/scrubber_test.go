package dispatch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// attic is a store that is scrubbed in a given number of steps.
type attic struct {
	steps int
	takes time.Duration
	fail  func(cursor string) error

	mu    sync.Mutex // guards all fields below
	calls []string
	at    []time.Time
}

func (a *attic) Scrub(ctx context.Context, _ task.Millis, cursor string, limit int) (store.Scrubbed, error) {
	a.mu.Lock()
	a.calls, a.at = append(a.calls, cursor), append(a.at, time.Now())
	a.mu.Unlock()
	pause(ctx, a.takes)
	if a.fail != nil && a.fail(cursor) != nil {
		return store.Scrubbed{}, a.fail(cursor)
	}
	n := 0
	if cursor != "" {
		n, _ = strconv.Atoi(cursor)
	}
	found := store.Scrubbed{Examined: limit}
	if n++; n < a.steps {
		found.Next = fmt.Sprint(n)
	}
	if n == 3 {
		found.Repairs = []store.Repair{{Key: key("lost"), Found: "it had no entry"}}
	}
	return found, nil
}

func (a *attic) seen() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]string{}, a.calls...)
}

func TestAScrubRunsOnceAnHourAndLogsItsRepairs(t *testing.T) {
	a := &attic{steps: 10}
	var log bytes.Buffer
	var examined, repairs atomic.Int64
	c := Config{Scrubber: a, Logger: slog.New(slog.NewTextHandler(&log, nil)), OnScrub: func(s store.Scrubbed) {
		examined.Add(int64(s.Examined))
		repairs.Add(int64(len(s.Repairs)))
	}}
	inBubble(t, c, nil, accept, func(b *bed) {
		b.pass(30 * time.Minute)
		if n := len(a.seen()); n != 10 || examined.Load() != 10*scrubStep || repairs.Load() != 1 {
			t.Errorf("%d steps, %d examined, %d repaired", n, examined.Load(), repairs.Load())
		}
		b.pass(3 * time.Hour)
		if n := len(a.seen()); n != 40 {
			t.Errorf("%d steps within three and a half hours", n)
		}
	})
	if s := log.String(); strings.Count(s, "level=ERROR") != 4 || !strings.Contains(s, "lost") || !strings.Contains(s, "it had no entry") {
		t.Errorf("the log says: %s", s)
	}
}

func TestAScrubUsesASmallShareOfTheStoresTime(t *testing.T) {
	a := &attic{steps: 1 << 30, takes: 20 * time.Millisecond}
	inBubble(t, Config{Scrubber: a}, nil, accept, func(b *bed) {
		b.pass(time.Minute + 10*time.Second)
		if n := len(a.seen()); n < 9 || n > 11 {
			t.Errorf("%d steps of 20 ms within ten seconds", n)
		}
	})
}

func TestAFailedScrubStartsAgain(t *testing.T) {
	a := &attic{steps: 4}
	a.fail = func(cursor string) error {
		if cursor == "2" && len(a.seen()) < 5 {
			return errors.New("the medium has hiccups")
		}
		return nil
	}
	inBubble(t, Config{Scrubber: a, ScrubEvery: time.Minute}, nil, accept, func(b *bed) {
		b.pass(150 * time.Second)
		if got := fmt.Sprint(a.seen()); got != "[ 1 2  1 2 3]" {
			t.Errorf("steps: %v", got)
		}
	})
}

func TestTheScrubCanBeTurnedOff(t *testing.T) {
	a := &attic{steps: 4}
	inBubble(t, Config{Scrubber: a, ScrubEvery: -1}, nil, accept, func(b *bed) {
		b.pass(2*time.Hour + time.Minute) // longer than two of the default
		if n := len(a.seen()); n != 0 {
			t.Errorf("%d steps", n)
		}
	})
}

func TestObserveIsCalledForEverySettlement(t *testing.T) {
	var events []Event
	n := 0
	r := func(context.Context, task.Delivery) task.Outcome {
		if n++; n == 1 {
			return task.Outcome{Verdict: task.Failure, Status: 500, StartedAt: millis(), Late: time.Microsecond}
		}
		return task.Outcome{Verdict: task.Success, Status: 200, StartedAt: millis()}
	}
	inBubble(t, Config{Observe: func(e Event) { events = append(events, e) }}, nil, r, func(b *bed) {
		b.create("t", time.Second)
		b.pass(time.Minute)
		if len(events) != 2 {
			t.Fatalf("events: %+v", events)
		}
		first, second := events[0], events[1]
		if first.Claimed.Attempts != 1 || first.Outcome.Late != time.Microsecond || first.After.State != task.Scheduled || first.After.AttemptsUsed != 1 {
			t.Errorf("the first: %+v", first)
		}
		if second.Claimed.Attempts != 2 || second.Outcome.Status != 200 || second.After.State != task.Delivered {
			t.Errorf("the second: %+v", second)
		}
	})
}
