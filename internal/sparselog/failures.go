package sparselog

import (
	"log/slog"
	"sync"
	"time"
)

// FailureEvery is the shortest time between two log lines for the same failure.
const FailureEvery = time.Minute

// Failures logs failures of actions that are tried again and again: the first failure,
// then one line in each FailureEvery, and the end.
type Failures struct {
	Logger *slog.Logger

	mu   sync.Mutex          // guards open
	open map[string]*failure // the key is the action that fails
}

// failure is a failure that has not ended.
type failure struct {
	since, last time.Time // when it began, when it failed most recently
	logged      time.Time // when it was logged most recently
	leftOut     int       // lines since then
}

// Note notes the result of an action ("own shards"): it failed with err, or succeeded if
// err is nil. args are attributes of the log line.
func (l *Failures) Note(action string, err error, args ...any) {
	if err == nil {
		l.End(action, 0)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	one := l.open[action]
	if one == nil {
		if l.open == nil {
			l.open = map[string]*failure{}
		}
		one = &failure{since: now}
		l.open[action] = one
	}
	one.last = now
	if now.Sub(one.logged) < FailureEvery {
		one.leftOut++
		return
	}
	l.Logger.Warn("could not "+action, append(args, "error", err, LeftOut, one.leftOut)...)
	one.logged, one.leftOut = now, 0
}

// End notes that an action succeeded, unless it has failed within the time calm.
func (l *Failures) End(action string, calm time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	one, end := l.open[action], time.Now()
	if one == nil || end.Sub(one.last) < calm {
		return
	}
	delete(l.open, action)
	if calm > 0 {
		end = one.last
	}
	l.Logger.Info("can "+action+" again", "after", end.Sub(one.since).Round(time.Millisecond).String())
}
