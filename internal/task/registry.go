package task

import (
	"context"
	"time"
)

// DefaultAuditKeep is how long entries of the audit log are kept.
const DefaultAuditKeep = 30 * 24 * time.Hour

// Registry is the half of a store that keeps what operators decide, and what
// was done: settings, counts and the audit log.
type Registry interface {
	// Settings returns all settings as they are durable now; of a shared store,
	// at most a second ago. Never nil. Costs one atomic load.
	Settings() *Settings

	// WatchSettings sets the function that is told of each new Settings, after it
	// is durable. It must not block. At most one watcher; nil removes it.
	WatchSettings(tell func(*Settings))

	// Configure carries out edits, each atomic by itself, in their order, and
	// returns one reply for each: its error is one of the Edit's own, and there
	// is an audit entry for each that changed something. After a nil error
	// Settings shows them. Of a DropNamespace the store sets the counts, so that a
	// namespace is never removed with a task in it, whatever others create meanwhile.
	Configure(ctx context.Context, now Millis, edits []Edit) ([]EditReply, error)

	// Record appends entries to the audit log that belong to no change: a backup was
	// taken, tokens were refused. Seq is the store's to set. If it fails, some may have
	// been written.
	Record(ctx context.Context, entries []AuditEntry) error

	// Counts returns the counts of every queue that has records. O(queues), no I/O.
	Counts(ctx context.Context) (map[QueueKey]Counts, error)

	// Audit returns the newest entries that f chooses and whose Seq is below
	// before (0: from the newest), at most limit, examining at most
	// MaxPageExamined. A page may be short, or empty with a Next.
	Audit(ctx context.Context, f AuditFilter, before uint64, limit int) (AuditPage, error)
}

// Scrubber audits a store.
type Scrubber interface {
	// Scrub examines at most limit records and index entries behind cursor (""
	// from the start) and repairs what breaks the store's invariants, so that no
	// task can look healthy and never fire. It may run beside everything else,
	// but only one at a time looks at everything: counts are compared at the end
	// of a scrub that went from start to end without another in between.
	//
	// A lease is held by nobody, and taken back, when it has ended and a scrub at
	// least StrayAfter later finds it unchanged. One look would not do: where the
	// clock was set ahead, every lease looks ended until it is extended.
	Scrub(ctx context.Context, now Millis, cursor string, limit int) (Scrubbed, error)
}

// StrayAfter is how long after a scrub first found a lease ended another one
// takes it back. Whoever holds a lease extends it far more often.
const StrayAfter = time.Minute

// FoundStray is the sentence of a Repair that took back a lease.
const FoundStray = "its lease had ended and nobody extended it: it would never have been tried again"

// Scrubbed is what one step of a scrub has found.
type Scrubbed struct {
	Examined int      // records and index entries
	Repairs  []Repair // what was wrong with some of them, and is right now
	Next     string   // where to go on; "": this was the end
}

// Repair is one finding of a scrub, repaired.
type Repair struct {
	Key   Key
	Found string // a sentence: "it had no entry in the due index, and would never have fired"
}
