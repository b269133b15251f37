package delivery

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/foliot/foliot/internal/cli/exit"
	"github.com/foliot/foliot/internal/cli/wording"
)

// Timer is one timer of a ledger.
type Timer struct {
	Name      string
	Due       time.Time // that was asked for in the last confirmed change
	Created   bool      // the server confirmed it
	Moved     bool
	Cancelled bool
	refused   bool // a change was refused before it was due
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

// Refuse records that the server refused a change to the due time at. This is
// right if the change came too late, and then the timer is judged as unchanged. A
// try before may have had effect, so the earlier due time counts.
func (l *Ledger) Refuse(i int, at, now time.Time) {
	l.Confirm(i, func(t *Timer) {
		if at.Before(t.Due) {
			t.Due = at
		}
		t.refused = t.refused || now.Before(t.Due)
	})
}

// Arrive records a callback.
func (l *Ledger) Arrive(name string, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ready && l.back.IsZero() {
		l.back = now
	}
	if i, ok := l.number[name]; ok {
		t := &l.timers[i]
		if t.arrivals = append(t.arrivals, now); len(t.arrivals) == 1 {
			l.latest = append(l.latest, *t)
		}
	}
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
		moved += number(t.Moved && !t.Cancelled)
		ended += number(t.Cancelled || t.Arrived())
	}
	var late []time.Duration
	for _, t := range l.latest[max(0, len(l.latest)-500):] {
		late = append(late, t.arrivals[0].Sub(t.Due))
	}
	slices.Sort(late)
	return fmt.Sprintf("%s called, late p50 %s, p99 %s; %s cancelled, %s moved", thousands(len(l.latest)), wording.Millis(share(late, 50)),
		wording.Millis(share(late, 99)), thousands(cancelled), thousands(moved)), ended
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

// Result is the end of a ledger.
type Result struct {
	Created   int `json:"created"`
	Cancelled int `json:"cancelled"`
	Sent      int `json:"cancelled_sent"` // callbacks of cancelled timers
	Moved     int `json:"moved"`
	Lost      int `json:"lost"`
	Early     int `json:"early"`
	Twice     int `json:"sent_twice"` // callbacks after the first of their timer

	OnTime  int     `json:"on_time"` // the timers that have the lateness below: the server was not away
	LateP50 float64 `json:"late_p50_ms"`
	LateP99 float64 `json:"late_p99_ms"`
	LateMax float64 `json:"late_max_ms"`

	Kills      int     `json:"kills"`
	Away       float64 `json:"server_away_s"`
	Delayed    int     `json:"delayed"` // timers that were due while the server was away, or were under way at a kill
	DelayedMax float64 `json:"delayed_max_s"`

	Runs   int64  `json:"schedule_runs"`
	Doomed string `json:"doomed_timer"` // its state

	Wrong []string `json:"wrong,omitempty"` // a sentence about each broken promise
}

// Judge compares the callbacks with the confirmed changes. Timers that are not due
// before now are not lost.
func (l *Ledger) Judge(now time.Time) *Result {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := &Result{Kills: l.kills, Away: seconds(max(0, l.back.Sub(l.killed)))}
	var late []time.Duration
	for _, t := range l.timers {
		if !t.Created {
			continue
		}
		r.Created++
		r.Moved += number(t.Moved && !t.Cancelled)
		r.Cancelled += number(t.Cancelled)
		r.Twice += max(0, len(t.arrivals)-1)
		var by time.Duration
		if t.Arrived() {
			by = t.arrivals[0].Sub(t.Due)
		}
		if t.refused {
			r.Wrong = append(r.Wrong, t.Name+" could not be changed before it was due")
		}
		switch {
		case t.Cancelled && t.Arrived():
			r.Sent += len(t.arrivals)
			r.Wrong = append(r.Wrong, t.Name+" was sent although it was cancelled")
		case !t.Arrived() && (t.Cancelled || !t.Due.Before(now)):
		case !t.Arrived():
			r.Lost++
			r.Wrong = append(r.Wrong, t.Name+" is lost")
		case by < 0:
			r.Early++
			r.Wrong = append(r.Wrong, fmt.Sprintf("%s was %s early", t.Name, wording.Millis(-by)))
		case t.Due.Before(l.back) && t.Due.After(l.killed.Add(-time.Second)) && t.arrivals[0].After(l.killed): // an attempt may take a second
			r.Delayed++
			r.DelayedMax = max(r.DelayedMax, seconds(by))
		default:
			late = append(late, by)
		}
	}
	slices.Sort(late)
	r.OnTime = len(late)
	r.LateP50, r.LateP99, r.LateMax = millis(share(late, 50)), millis(share(late, 99)), millis(share(late, 100))
	return r
}

func millis(d time.Duration) float64  { return float64(d.Microseconds()) / 1000 }
func seconds(d time.Duration) float64 { return float64(d.Milliseconds()) / 1000 }

// String returns the result as one line.
func (r *Result) String() string {
	lateness := "-"
	if r.OnTime > 0 {
		lateness = fmt.Sprintf("p50 %.1f ms, p99 %.1f ms", r.LateP50, r.LateP99)
	}
	return fmt.Sprintf("%s created · %s cancelled, %d sent · %s moved · lost %d · early %d · sent twice %d · lateness %s · server away %.1f s, %d tasks late by at most %.1f s",
		thousands(r.Created), thousands(r.Cancelled), r.Sent, thousands(r.Moved), r.Lost, r.Early, r.Twice, lateness, r.Away, r.Delayed, r.DelayedMax)
}

// thousands returns a number below a million with a comma.
func thousands(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%d,%03d", n/1000, n%1000)
}

// Err returns an error with the first broken promises, or nil.
func (r *Result) Err() error {
	if len(r.Wrong) == 0 {
		return nil
	}
	return exit.With(exit.Undelivered, fmt.Errorf("the server broke %s: %s", wording.Count(len(r.Wrong), "promise"), strings.Join(r.Wrong[:min(len(r.Wrong), 20)], ", ")))
}
