package redisstore

import (
	"log/slog"
	"sync"
	"time"
)

// remindEvery is how often the same trouble is logged.
const remindEvery = time.Minute

// troubles logs what is tried again and again, and fails: when that begins, once a
// minute while it lasts, and when it has ended. A Redis that is away would fill the log
// otherwise.
type troubles struct {
	logger *slog.Logger

	mu   sync.Mutex         // guards open
	open map[string]trouble // by what could not be done
}

// trouble is one that has not ended.
type trouble struct {
	since, said time.Time
	silent      int // failures since it was said
}

// about notes that what was tried failed with err, or did not. args stand in the log, too.
func (t *troubles) about(what string, err error, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	one, known := t.open[what]
	switch {
	case err == nil && !known:
		return
	case err == nil:
		delete(t.open, what)
		t.logger.Info(what+": works again", "after", now.Sub(one.since).Round(time.Millisecond).String())
		return
	case !known:
		one.since = now
	case now.Sub(one.said) < remindEvery:
		one.silent++
		t.open[what] = one
		return
	}
	t.logger.Warn("could not "+what, append(args, "error", err, "not_logged_before", one.silent)...)
	one.said, one.silent = now, 0
	if t.open == nil {
		t.open = map[string]trouble{}
	}
	t.open[what] = one
}
