package node

import (
	"log/slog"
	"sync"
	"time"

	"github.com/foliot/foliot/internal/dispatch"
	"github.com/foliot/foliot/internal/task"
)

// refusalEvery is how often a refusal is logged: a tenant can cause thousands a second.
const refusalEvery = time.Second

// refusals logs which addresses the egress guard kept tasks from. The tasks'
// own errors do not name them, except to operators.
type refusals struct {
	log *slog.Logger

	mu     sync.Mutex // guards the fields below
	last   time.Time  // when one was logged last
	silent int        // not logged since then
}

// note logs the refusal that e may be.
func (r *refusals) note(e dispatch.Event, now time.Time) {
	if e.Outcome.Verdict != task.Refusal || e.Outcome.Reason != task.ReasonEgressDenied {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if now.Sub(r.last) < refusalEvery {
		r.silent++
		return
	}
	r.log.Warn("a task was refused by the egress policy", "namespace", e.Claimed.Namespace, "task", e.Claimed.Name, "why", e.Outcome.Detail, "not_logged_before", r.silent)
	r.last, r.silent = now, 0
}
