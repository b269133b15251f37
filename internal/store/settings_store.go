package store

import (
	"context"
	"time"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/task"
)

// DefaultAuditKeep is how long entries of the audit log are kept.
const DefaultAuditKeep = 30 * 24 * time.Hour

// SettingsStore is the part of a store for operators: settings, counts and the
// audit log.
type SettingsStore interface {
	// Configure applies edits in their order, each atomic by itself, and returns
	// one reply for each, with an error of the Edit's own. Each edit that changed
	// something has an audit entry. After a nil error, Standing includes the
	// edit, and the watcher has returned. In a shared store Configure waits at
	// most two seconds, until the watcher of each live node has returned too: see
	// EditReply. Even a node whose watcher has not returned claims no task by
	// older settings. If the edits stop nothing, Configure does not wait.
	//
	// The store sets the counts of a DropNamespace, so a namespace that has a
	// task is never removed, even if other callers create tasks at the same time.
	Configure(ctx context.Context, now task.Millis, edits []settings.Edit) ([]settings.EditReply, error)

	// Counts returns the counts of every queue that has records. O(queues), no
	// I/O.
	Counts(ctx context.Context) (map[task.QueueKey]task.Counts, error)

	// Audit returns the newest entries that match f and whose Seq is below before
	// (0: from the newest), at most limit. It examines at most MaxPageExamined,
	// so a page may be short, or empty with a Next. The log keeps the newest
	// MaxAuditEntries.
	Audit(ctx context.Context, f settings.AuditFilter, before uint64, limit int) (settings.AuditPage, error)
}
