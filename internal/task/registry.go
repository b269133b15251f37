package task

import (
	"context"
	"time"
)

// DefaultAuditKeep is how long entries of the audit log are kept.
const DefaultAuditKeep = 30 * 24 * time.Hour

// Registry is the part of a store for operators: settings, counts and the audit
// log.
type Registry interface {
	// Settings returns all settings that are durable now; in a shared store
	// they are at most a second old. Never nil. It costs one atomic load.
	Settings() *Settings

	// WatchSettings sets the function that is called with each new Settings
	// after it is durable. The function must not block. There is at most one
	// watcher; nil removes it.
	WatchSettings(notify func(*Settings))

	// Configure carries out edits in their order, each atomic by itself, and
	// returns one reply for each. A reply's error is one of the Edit's own.
	// Each edit that changed something has an audit entry. After a nil error,
	// Settings includes the edit.
	//
	// The store sets the counts of a DropNamespace. So a namespace that has a
	// task is never removed, even if other callers create tasks at the same
	// time.
	Configure(ctx context.Context, now Millis, edits []Edit) ([]EditReply, error)

	// Record appends entries to the audit log that belong to no change, such as
	// a backup or refused tokens. The store sets Seq. If Record fails, some
	// entries may have been written.
	Record(ctx context.Context, entries []AuditEntry) error

	// Counts returns the counts of every queue that has records. O(queues), no I/O.
	Counts(ctx context.Context) (map[QueueKey]Counts, error)

	// Audit returns the newest entries that match f and whose Seq is below
	// before (0: from the newest). It returns at most limit entries and
	// examines at most MaxPageExamined. A page may be short, or empty with a
	// Next.
	Audit(ctx context.Context, f AuditFilter, before uint64, limit int) (AuditPage, error)
}

// Scrubber audits a store.
type Scrubber interface {
	// Scrub examines at most limit records and index entries after cursor ("":
	// from the start). It repairs violations of the store's invariants, so that
	// no task can look healthy and never fire. Scrub may run at the same time
	// as any other call. But only one scrub at a time can examine everything:
	// counts are compared at the end of a scrub that ran from start to end
	// without another in between.
	//
	// Scrub takes back a lease that has ended if another scrub, at least
	// StrayAfter later, finds it unchanged. One scrub is not enough: if the
	// clock was set ahead, every lease looks ended until it is extended.
	Scrub(ctx context.Context, now Millis, cursor string, limit int) (Scrubbed, error)
}

// StrayAfter is the minimum time between the scrub that first finds a lease
// ended and the scrub that takes it back. The holder of a lease extends it far
// more often.
const StrayAfter = time.Minute

// FoundStray is the sentence of a Repair that took back a lease.
const FoundStray = "its lease had ended and was not extended: it would never have been retried"

// Scrubbed is the result of one step of a scrub.
type Scrubbed struct {
	Examined int      // records and index entries
	Repairs  []Repair // the violations found, all repaired
	Next     string   // the next cursor; "": this was the end
}

// Repair is one finding of a scrub, repaired.
type Repair struct {
	Key   Key
	Found string // a sentence: "it had no entry in the due index, and would never have fired"
}
