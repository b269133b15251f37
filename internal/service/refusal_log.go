package service

import (
	"log/slog"
	"sync"
	"time"

	"github.com/foliot/foliot/internal/dispatch"
	"github.com/foliot/foliot/internal/sparselog"
	"github.com/foliot/foliot/internal/task"
)

// refusalEvery is the shortest time between two logged refusals. A namespace
// can cause thousands a second.
const refusalEvery = time.Second

// refusals logs the addresses that the egress guard refused. The errors of
// tasks show these addresses to operators only. Its methods can be called
// concurrently.
type refusals struct {
	log *slog.Logger

	mu    sync.Mutex // guards lines
	lines sparselog.Window
}

// note logs e if the egress guard refused its attempt, at most once in each
// refusalEvery.
func (r *refusals) note(e dispatch.Event, now time.Time) {
	if e.Outcome.Verdict != task.Refusal || e.Outcome.Reason != task.ReasonEgressDenied {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	leftOut, ok := r.lines.Add(now, 1, refusalEvery)
	if !ok {
		return
	}
	r.log.Warn("the egress policy refused a task", "namespace", e.Claimed.Namespace, "task", e.Claimed.Name, "why", e.Outcome.Detail, "not_logged_before", leftOut)
}
