package trial

import (
	"slices"
	"sync"
	"time"

	"github.com/foliot/foliot/bench/embed/contender"
	"github.com/foliot/foliot/bench/record"
)

// log records when handlers start.
type log struct {
	mu    sync.Mutex // guards the fields below
	first map[int]start
	again int
	want  int           // number of tasks
	all   chan struct{} // closed when want tasks have started
}

type start struct{ at, due time.Time }

func newLog(want int) *log {
	return &log{first: map[int]start{}, want: want, all: make(chan struct{})}
}

func (l *log) add(t contender.Task, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, started := l.first[t.I]; started {
		l.again++
		return
	}
	l.first[t.I] = start{at, t.Due}
	if len(l.first) == l.want {
		close(l.all)
	}
}

// wait waits until all tasks have started, but no longer than until the given
// time.
func (l *log) wait(until time.Time) {
	select {
	case <-l.all:
	case <-time.After(time.Until(until)):
	}
}

// started returns the start of a task's handler.
func (l *log) started(i int) (time.Time, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s, started := l.first[i]
	return s.at, started
}

// waitFor waits up to d for the start of one task.
func (l *log) waitFor(i int, d time.Duration) (time.Time, bool) {
	for end := time.Now().Add(d); ; time.Sleep(5 * time.Millisecond) {
		if at, started := l.started(i); started || time.Now().After(end) {
			return at, started
		}
	}
}

// lateness stores how late the handlers of created tasks started, and how many
// started early or never.
func (l *log) lateness(v record.Values, created int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	late := make([]float64, 0, len(l.first))
	for _, s := range l.first {
		late = append(late, float64(s.at.Sub(s.due))/float64(time.Millisecond))
	}
	slices.Sort(late)
	v[record.Fired], v[record.Lost], v[record.Doubled] = float64(len(late)), float64(created-len(late)), float64(l.again)
	if len(late) == 0 {
		return
	}
	at := func(p float64) float64 { return late[min(int(p*float64(len(late))), len(late)-1)] }
	v[record.P50Ms], v[record.P99Ms], v[record.MaxMs] = at(0.5), at(0.99), at(1)
	early, _ := slices.BinarySearch(late, 0)
	v[record.Early], v[record.EarliestMs] = float64(early), max(-late[0], 0)
}

// span returns the times of the first and the last start.
func (l *log) span() (first, last time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.first {
		if first.IsZero() || s.at.Before(first) {
			first = s.at
		}
		if s.at.After(last) {
			last = s.at
		}
	}
	return first, last
}
