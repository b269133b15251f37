package node

import (
	"log/slog"

	"github.com/foliot/foliot/internal/task"
)

// logDeath logs t if it died.
func logDeath(log *slog.Logger, t *task.Task) {
	if t == nil || t.State != task.Dead {
		return
	}
	attrs := []any{
		"namespace", t.Namespace, "queue", t.Queue, "task", t.Name, "id", t.ID, "reason", t.Reason,
		"destination", t.Request.Destination, "due", t.OriginalDue.Time().UTC(), "attempts", t.Attempts,
	}
	if n := len(t.History); n > 0 {
		last := t.History[n-1]
		attrs = append(attrs, "status", last.Status, "error", last.Error)
		if last.Detail != "" {
			attrs = append(attrs, "detail", last.Detail)
		}
	}
	log.Warn("a task died", attrs...)
}
