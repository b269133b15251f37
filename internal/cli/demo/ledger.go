package demo

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/foliot/foliot/internal/cli/wording"
)

// timer is one timer of the demo.
type timer struct {
	name      string
	due       time.Time // the due time that the server confirmed last
	created   bool      // the server confirmed it
	moved     bool
	cancelled bool
	arrivals  []time.Time
}

// ledger holds the changes that the server confirmed, and the callbacks that
// came. Several goroutines may use it.
type ledger struct {
	mu       sync.Mutex // guards everything below
	timers   []timer
	number   map[string]int  // index by name
	other    int             // callbacks of the schedule
	lateness []time.Duration // of each timer that has arrived, in that order
	killed   time.Time       // when the server was killed; zero: not yet
	ready    bool            // it is ready again
	back     time.Time       // when the first callback came after that; zero: not yet
}

// newLedger plans n timers that become due evenly from start on, over a time.
func newLedger(run string, n int, start time.Time, over time.Duration) *ledger {
	l := &ledger{timers: make([]timer, n), number: make(map[string]int, n)}
	for i := range l.timers {
		t := &l.timers[i]
		t.name, t.due = fmt.Sprintf("demo-%s-%d", run, i), start.Add(over*time.Duration(i)/time.Duration(n)).Truncate(time.Millisecond)
		l.number[t.name] = i
	}
	return l
}

// at returns a copy of timer i.
func (l *ledger) at(i int) timer {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.timers[i]
}

// confirm records a change of timer i that the server confirmed.
func (l *ledger) confirm(i int, change func(*timer)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change(&l.timers[i])
}

// arrive records a callback.
func (l *ledger) arrive(name string, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ready && l.back.IsZero() {
		l.back = now
	}
	i, ok := l.number[name]
	if !ok {
		l.other++
		return
	}
	t := &l.timers[i]
	if t.arrivals = append(t.arrivals, now); len(t.arrivals) == 1 {
		l.lateness = append(l.lateness, now.Sub(t.due))
	}
}

// others returns the number of callbacks that are of no timer.
func (l *ledger) others() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.other
}

// outage records when the server was killed, and whether it is ready again.
func (l *ledger) outage(killed time.Time, ready bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.killed, l.ready = killed, ready
}

// line returns the state for people, with the lateness of the last timers, and how
// many timers have arrived or are cancelled.
func (l *ledger) line() (line string, ended int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	cancelled, moved := 0, 0
	for i := range l.timers {
		t := &l.timers[i]
		if t.cancelled {
			cancelled++
		}
		if t.moved {
			moved++
		}
		if t.cancelled || len(t.arrivals) > 0 {
			ended++
		}
	}
	server := ""
	if !l.killed.IsZero() && l.back.IsZero() {
		server = "; the server was killed"
	}
	last := slices.Sorted(slices.Values(l.lateness[max(0, len(l.lateness)-500):]))
	return fmt.Sprintf("%s called, %s cancelled, %s moved; late p50 %s, p99 %s%s", thousands(len(l.lateness)), thousands(cancelled),
		thousands(moved), wording.Millis(share(last, 50)), wording.Millis(share(last, 99)), server), ended
}

// share returns the value below which percent of the sorted values are.
func share(sorted []time.Duration, percent int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)*percent/100, len(sorted)-1)]
}

// Result is the output of -o json.
type Result struct {
	Created   int `json:"created"`
	Cancelled int `json:"cancelled"`
	Sent      int `json:"cancelled_sent"` // callbacks of cancelled timers
	Moved     int `json:"moved"`
	Lost      int `json:"lost"`
	Early     int `json:"early"`
	Twice     int `json:"sent_twice"` // callbacks after the first of their timer

	LateP50 float64 `json:"late_p50_ms"` // without the delayed timers
	LateP99 float64 `json:"late_p99_ms"`

	Away       float64 `json:"server_away_s"`
	Delayed    int     `json:"delayed"` // timers that were due while the server was away
	DelayedMax float64 `json:"delayed_max_s"`

	Wrong []string `json:"wrong,omitempty"` // the timers that were lost, early, or sent although they were cancelled
}

// judge compares the callbacks with the confirmed changes.
func (l *ledger) judge() *Result {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := &Result{Away: l.back.Sub(l.killed).Seconds()}
	var late []time.Duration
	for i := range l.timers {
		t := &l.timers[i]
		if !t.created {
			continue
		}
		r.Created++
		if t.moved {
			r.Moved++
		}
		r.Twice += max(0, len(t.arrivals)-1)
		switch {
		case t.cancelled:
			r.Cancelled++
			if n := len(t.arrivals); n > 0 {
				r.Sent += n
				r.Wrong = append(r.Wrong, t.name+" was sent although it was cancelled")
			}
			continue
		case len(t.arrivals) == 0:
			r.Lost++
			r.Wrong = append(r.Wrong, t.name+" is lost")
			continue
		}
		switch by := t.arrivals[0].Sub(t.due); {
		case by < 0:
			r.Early++
			r.Wrong = append(r.Wrong, fmt.Sprintf("%s was %s early", t.name, wording.Millis(-by)))
		case t.due.Before(l.back) && t.arrivals[0].After(l.killed):
			r.Delayed++
			r.DelayedMax = max(r.DelayedMax, by.Seconds())
		default:
			late = append(late, by)
		}
	}
	slices.Sort(late)
	r.LateP50, r.LateP99 = millis(share(late, 50)), millis(share(late, 99))
	return r
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// String returns the result as one line.
func (r *Result) String() string {
	return fmt.Sprintf("%s created · %s cancelled, %d sent · %s moved · lost %d · early %d · sent twice %d · lateness p50 %.1f ms, p99 %.1f ms · server away %.1f s, %d tasks late by at most %.1f s",
		thousands(r.Created), thousands(r.Cancelled), r.Sent, thousands(r.Moved), r.Lost, r.Early, r.Twice, r.LateP50, r.LateP99, r.Away, r.Delayed, r.DelayedMax)
}

// thousands returns a number below a million with a comma.
func thousands(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%d,%03d", n/1000, n%1000)
}

// namedWrongs is how many wrong timers an error names.
const namedWrongs = 20

// err returns an error that names the wrong timers, or nil.
func (r *Result) err() error {
	if len(r.Wrong) == 0 {
		return nil
	}
	more := ""
	if n := len(r.Wrong) - namedWrongs; n > 0 {
		more = fmt.Sprintf(", and %d more", n)
	}
	return fmt.Errorf("the server broke its promise: %s%s", strings.Join(r.Wrong[:min(len(r.Wrong), namedWrongs)], ", "), more)
}
