package delivery

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/foliot/foliot/internal/cli/wording"
)

// Timer is one timer of a ledger.
type Timer struct {
	Name      string
	Due       time.Time // the due time that the server confirmed last
	Created   bool      // the server confirmed it
	Moved     bool
	Cancelled bool
	arrivals  []time.Time
}

// Arrived reports whether a callback has come.
func (t Timer) Arrived() bool { return len(t.arrivals) > 0 }

// Ledger compares the changes that the server confirmed with the callbacks that
// came. It knows no clock. Many goroutines may use it.
type Ledger struct {
	mu     sync.Mutex // guards everything below
	timers []Timer
	number map[string]int // index by name
	latest []Timer        // in the order of their first callbacks
	kills  int            // of the server
	killed time.Time      // when it was killed first; zero: not yet
	ready  bool           // it is ready again
	back   time.Time      // when the first callback came after that; zero: not yet
}

// NewLedger plans n timers that become due evenly from start on, over a time.
func NewLedger(prefix string, n int, start time.Time, over time.Duration) *Ledger {
	l := &Ledger{timers: make([]Timer, n), number: make(map[string]int, n)}
	for i := range l.timers {
		t := &l.timers[i]
		t.Name, t.Due = fmt.Sprintf("%s-%d", prefix, i), start.Add(over*time.Duration(i)/time.Duration(n)).Truncate(time.Millisecond)
		l.number[t.Name] = i
	}
	return l
}

// At returns a copy of timer i.
func (l *Ledger) At(i int) Timer {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.timers[i]
}

// Confirm records a change of timer i that the server confirmed.
func (l *Ledger) Confirm(i int, change func(*Timer)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change(&l.timers[i])
}

// Arrive records a callback, and reports whether it is of a timer.
func (l *Ledger) Arrive(name string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ready && l.back.IsZero() {
		l.back = now
	}
	i, ok := l.number[name]
	if ok {
		t := &l.timers[i]
		if t.arrivals = append(t.arrivals, now); len(t.arrivals) == 1 {
			l.latest = append(l.latest, *t)
		}
	}
	return ok
}

// Arrived returns how many timers have arrived.
func (l *Ledger) Arrived() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.latest)
}

// Killed records that the server was killed. Several kills in a row are one outage.
func (l *Ledger) Killed(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.killed.IsZero() {
		l.killed = now
	}
	l.kills++
	l.ready, l.back = false, time.Time{}
}

// Ready records that the server is ready again.
func (l *Ledger) Ready() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ready = true
}

// Line returns the state for people, with the lateness of the last timers, and how
// many timers have arrived or are cancelled.
func (l *Ledger) Line() (line string, ended int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	cancelled, moved := 0, 0
	for _, t := range l.timers {
		cancelled += number(t.Cancelled)
		moved += number(t.Moved)
		ended += number(t.Cancelled || t.Arrived())
	}
	var late []time.Duration
	for _, t := range l.latest[max(0, len(l.latest)-500):] {
		late = append(late, t.arrivals[0].Sub(t.Due))
	}
	slices.Sort(late)
	server := ""
	switch {
	case !l.back.IsZero():
		server = fmt.Sprintf("; the server was killed %s, and away for %.1f s", wording.Count(l.kills, "time"), l.back.Sub(l.killed).Seconds())
	case !l.killed.IsZero():
		server = "; the server was killed"
	}
	return fmt.Sprintf("%s called, %s cancelled, %s moved; late p50 %s, p99 %s%s", thousands(len(l.latest)), thousands(cancelled),
		thousands(moved), wording.Millis(share(late, 50)), wording.Millis(share(late, 99)), server), ended
}

func number(b bool) int {
	if b {
		return 1
	}
	return 0
}

// share returns the value below which percent of the sorted values are.
func share(sorted []time.Duration, percent int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)*percent/100, len(sorted)-1)]
}

// Result is what a ledger shows at the end.
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
	LateMax float64 `json:"late_max_ms"`

	Away       float64 `json:"server_away_s"`
	Delayed    int     `json:"delayed"` // timers that were due while the server was away
	DelayedMax float64 `json:"delayed_max_s"`

	Wrong []string `json:"wrong,omitempty"` // the timers that were lost, early, or sent although they were cancelled
}

// Judge compares the callbacks with the confirmed changes.
func (l *Ledger) Judge() *Result {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := &Result{Away: l.back.Sub(l.killed).Seconds()}
	var late []time.Duration
	for _, t := range l.timers {
		if !t.Created {
			continue
		}
		r.Created++
		r.Moved += number(t.Moved)
		r.Cancelled += number(t.Cancelled)
		r.Twice += max(0, len(t.arrivals)-1)
		var by time.Duration
		if t.Arrived() {
			by = t.arrivals[0].Sub(t.Due)
		}
		switch {
		case t.Cancelled && t.Arrived():
			r.Sent += len(t.arrivals)
			r.Wrong = append(r.Wrong, t.Name+" was sent although it was cancelled")
		case t.Cancelled:
		case !t.Arrived():
			r.Lost++
			r.Wrong = append(r.Wrong, t.Name+" is lost")
		case by < 0:
			r.Early++
			r.Wrong = append(r.Wrong, fmt.Sprintf("%s was %s early", t.Name, wording.Millis(-by)))
		case t.Due.Before(l.back) && t.arrivals[0].After(l.killed):
			r.Delayed++
			r.DelayedMax = max(r.DelayedMax, by.Seconds())
		default:
			late = append(late, by)
		}
	}
	slices.Sort(late)
	r.LateP50, r.LateP99, r.LateMax = millis(share(late, 50)), millis(share(late, 99)), millis(share(late, 100))
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

// Err returns an error that names the wrong timers, or nil.
func (r *Result) Err() error {
	if len(r.Wrong) == 0 {
		return nil
	}
	more := ""
	if n := len(r.Wrong) - namedWrongs; n > 0 {
		more = fmt.Sprintf(", and %d more", n)
	}
	return fmt.Errorf("the server broke its promise: %s%s", strings.Join(r.Wrong[:min(len(r.Wrong), namedWrongs)], ", "), more)
}
