package trial

import (
	"sync"
	"time"

	"github.com/foliot/foliot/bench/embed/contender"
	"github.com/foliot/foliot/bench/metric"
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

// count returns the number of tasks that have started.
func (l *log) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.first)
}

// lateness stores how late the handlers of created tasks started, and how many
// never did.
func (l *log) lateness(v metric.Values, created int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	late := make([]time.Duration, 0, len(l.first))
	for _, s := range l.first {
		late = append(late, s.at.Sub(s.due))
	}
	v[metric.Fired], v[metric.Lost], v[metric.Doubled] = float64(len(late)), float64(created-len(late)), float64(l.again)
	v.Lateness(late)
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
