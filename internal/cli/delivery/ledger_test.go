package delivery

import (
	"strings"
	"testing"
	"time"
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
	return l.Judge()
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
	want := "demo-x-1 was 1.0 ms early, demo-x-2 was sent although it was cancelled, demo-x-4 was 1m0s early, demo-x-5 is lost"
	if err := r.Err(); err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Error(err)
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
