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
	// Settings returns all settings that are durable now; in a shared store
	// they are at most a second old. Never nil. It costs one atomic load.
	Settings() *settings.Settings

	// WatchSettings sets the function that is called with each new Settings
	// after it is durable. The function must not block. There is at most one
	// watcher; nil removes it.
	WatchSettings(notify func(*settings.Settings))

	// Configure applies edits in their order, each atomic by itself, and
	// returns one reply for each. A reply's error is one of the Edit's own.
	// Each edit that changed something has an audit entry. After a nil error,
	// Settings includes the edit, and the watcher has returned. Other nodes
	// may be behind: see Cluster.
	//
	// The store sets the counts of a DropNamespace. So a namespace that has a
	// task is never removed, even if other callers create tasks at the same
	// time.
	Configure(ctx context.Context, now task.Millis, edits []settings.Edit) ([]settings.EditReply, error)

	// Record appends entries to the audit log that belong to no edit, such as a
	// backup, refused tokens, or changes of tasks. The store sets Seq. If Record
	// fails, some entries may have been written.
	Record(ctx context.Context, entries []settings.AuditEntry) error

	// Counts returns the counts of every queue that has records. O(queues), no
	// I/O.
	Counts(ctx context.Context) (map[task.QueueKey]task.Counts, error)

	// Audit returns the newest entries that match f and whose Seq is below
	// before (0: from the newest), at most limit. It examines at most
	// MaxPageExamined. A page may be short, or empty with a Next. The log keeps
	// the newest MaxAuditEntries.
	Audit(ctx context.Context, f settings.AuditFilter, before uint64, limit int) (settings.AuditPage, error)
}
