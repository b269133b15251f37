package delivery

import (
	"strings"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/cli/exit"
)

// ending plays a story of timers that are due each second.
func ending(t *testing.T, n int, story func(l *Ledger, start time.Time)) *Result {
	t.Helper()
	start := time.Unix(1_900_000_000, 0)
	l := NewLedger("demo-x", n, start, time.Duration(n)*time.Second)
	for i := range n {
		l.Confirm(i, func(t *Timer) { t.Created = true })
	}
	story(l, start)
	return l.Judge(start.Add(time.Hour))
}

func TestEachBrokenPromiseIsNamed(t *testing.T) {
	r := ending(t, 6, func(l *Ledger, start time.Time) {
		l.Arrive("demo-x-0", start.Add(2*time.Millisecond))
		l.Arrive("demo-x-0", start.Add(time.Second))
		l.Arrive("demo-x-1", start.Add(time.Second-time.Millisecond))
		l.Confirm(2, func(t *Timer) { t.Cancelled = true })
		l.Arrive("demo-x-2", start.Add(2*time.Second))
		l.Confirm(3, func(t *Timer) { t.Cancelled = true })
		l.Confirm(4, func(t *Timer) { t.Moved, t.Due = true, t.Due.Add(time.Minute) })
		l.Arrive("demo-x-4", start.Add(4*time.Second)) // at its former time
	})
	if r.Created != 6 || r.Cancelled != 2 || r.Sent != 1 || r.Moved != 1 || r.Lost != 1 || r.Early != 2 || r.Twice != 1 || r.LateP50 != 2 {
		t.Errorf("%+v", r)
	}
	want := "demo-x-1 was 1.0 ms early, demo-x-2 was sent although it was cancelled, demo-x-4 was 1m early, demo-x-5 is lost"
	if err := r.Err(); exit.CodeOf(err) != exit.Undelivered || !strings.HasSuffix(err.Error(), "4 promises: "+want) {
		t.Error(err)
	}
}

func TestOnlyARefusalBeforeTheDueTimeBreaksAPromise(t *testing.T) {
	r := ending(t, 4, func(l *Ledger, start time.Time) {
		for i := range 4 {
			due := start.Add(time.Duration(i) * time.Second)
			switch i {
			case 0: // it was late, and came too late
				l.Refuse(i, due.Add(time.Minute), due.Add(time.Millisecond))
			case 1:
				l.Refuse(i, due, due.Add(-time.Millisecond))
			case 2: // a try before has moved it to an earlier time, and its answer was lost
				due = due.Add(-time.Second)
				l.Refuse(i, due, due.Add(time.Millisecond))
			case 3: // nor does a later refusal make good for the first
				l.Refuse(i, due, due.Add(-time.Millisecond))
				l.Refuse(i, due, due.Add(time.Millisecond))
			}
			l.Arrive(l.At(i).Name, due.Add(time.Millisecond))
		}
	})
	if got, want := strings.Join(r.Wrong, ", "), "demo-x-1 could not be changed before it was due, demo-x-3 could not be changed before it was due"; got != want || r.Cancelled+r.Moved != 0 {
		t.Errorf("%+v", r)
	}
}

func TestATimerIsLostOnlyIfItWasDue(t *testing.T) {
	start := time.Unix(1_900_000_000, 0)
	l := NewLedger("demo-x", 3, start, 3*time.Second)
	for i := range 3 {
		l.Confirm(i, func(t *Timer) { t.Created = true })
	}
	if r := l.Judge(start.Add(1500 * time.Millisecond)); strings.Join(r.Wrong, ", ") != "demo-x-0 is lost, demo-x-1 is lost" || r.Lost != 2 {
		t.Errorf("%+v", r)
	}
}

func TestTheLatenessHasAllTimersThatWereNotAtAKill(t *testing.T) {
	killed := func(l *Ledger, at time.Time) {
		l.Killed(at)
		l.Ready()
	}
	r := ending(t, 4, func(l *Ledger, start time.Time) {
		killed(l, start.Add(2500*time.Millisecond))
		for i := range 4 { // at most the third was under way, although all came after the kill
			l.Arrive(l.At(i).Name, start.Add(10*time.Second))
		}
	})
	if r.OnTime != 2 || r.LateMax != 10_000 || r.Delayed != 2 || r.DelayedMax != 8 || r.Kills != 1 {
		t.Errorf("%+v", r)
	}
	r = ending(t, 1, func(l *Ledger, start time.Time) {
		killed(l, start.Add(-time.Second/2))
		l.Arrive("demo-x-0", start.Add(time.Second))
	})
	if got := r.String(); !strings.Contains(got, "· lateness - ·") {
		t.Error(got)
	}
}

func TestTimersThatWereDueWithoutAServerAreCountedApart(t *testing.T) {
	r := ending(t, 4, func(l *Ledger, start time.Time) {
		l.Arrive("demo-x-0", start.Add(time.Millisecond))
		l.Killed(start.Add(500 * time.Millisecond))
		l.Arrive("demo-x-1", start.Add(time.Second+3*time.Millisecond)) // was under way
		l.Ready()
		l.Arrive("demo-x-2", start.Add(4*time.Second))
		l.Arrive("demo-x-3", start.Add(4*time.Second))
	})
	if err := r.Err(); err != nil {
		t.Error(err)
	}
	if got, want := r.String(), "4 created · 0 cancelled, 0 sent · 0 moved · lost 0 · early 0 · sent twice 0 · lateness p50 1.0 ms, p99 1.0 ms · server away 3.5 s, 3 tasks late by at most 2.0 s"; got != want {
		t.Errorf("got\n%s, want\n%s", got, want)
	}
}
