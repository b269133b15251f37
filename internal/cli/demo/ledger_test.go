package demo

import (
	"strings"
	"testing"
	"time"
)

// ending plays a story of timers that are due each second.
func ending(t *testing.T, n int, story func(l *ledger, start time.Time)) *Result {
	t.Helper()
	start := time.Unix(1_900_000_000, 0)
	l := newLedger("x", n, start, time.Duration(n)*time.Second)
	for i := range n {
		l.confirm(i, func(t *timer) { t.created = true })
	}
	story(l, start)
	return l.judge()
}

func TestEachBrokenPromiseIsNamed(t *testing.T) {
	r := ending(t, 6, func(l *ledger, start time.Time) {
		l.arrive("demo-x-0", start.Add(2*time.Millisecond))
		l.arrive("demo-x-0", start.Add(time.Second))
		l.arrive("demo-x-1", start.Add(time.Second-time.Millisecond))
		l.confirm(2, func(t *timer) { t.cancelled = true })
		l.arrive("demo-x-2", start.Add(2*time.Second))
		l.confirm(3, func(t *timer) { t.cancelled = true })
		l.confirm(4, func(t *timer) { t.moved, t.due = true, t.due.Add(time.Minute) })
		l.arrive("demo-x-4", start.Add(4*time.Second)) // at its former time
	})
	if r.Created != 6 || r.Cancelled != 2 || r.Sent != 1 || r.Moved != 1 || r.Lost != 1 || r.Early != 2 || r.Twice != 1 || r.LateP50 != 2 {
		t.Errorf("%+v", r)
	}
	want := "demo-x-1 was 1.0 ms early, demo-x-2 was sent although it was cancelled, demo-x-4 was 1m0s early, demo-x-5 is lost"
	if err := r.err(); err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Error(err)
	}
}

func TestTimersThatWereDueWithoutAServerAreCountedApart(t *testing.T) {
	r := ending(t, 4, func(l *ledger, start time.Time) {
		l.arrive("demo-x-0", start.Add(time.Millisecond))
		l.outage(start.Add(500*time.Millisecond), false)
		l.arrive("demo-x-1", start.Add(time.Second+3*time.Millisecond)) // was under way
		l.outage(start.Add(500*time.Millisecond), true)
		l.arrive("demo-x-2", start.Add(4*time.Second))
		l.arrive("demo-x-3", start.Add(4*time.Second))
	})
	if err := r.err(); err != nil {
		t.Error(err)
	}
	if got, want := r.String(), "4 created · 0 cancelled, 0 sent · 0 moved · lost 0 · early 0 · sent twice 0 · lateness p50 1.0 ms, p99 1.0 ms · server away 3.5 s, 3 tasks late by at most 2.0 s"; got != want {
		t.Errorf("got\n%s, want\n%s", got, want)
	}
}
