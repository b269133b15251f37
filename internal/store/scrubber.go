package store

import (
	"context"
	"fmt"
	"time"

	"github.com/foliot/foliot/internal/task"
)

// Scrubber audits a store.
type Scrubber interface {
	// Scrub examines at most limit records and index entries after cursor ("":
	// from the start). It repairs violations of the store's invariants, so that
	// no task can look healthy and never fire. Scrub can run at the same time
	// as any other call. But only one scrub at a time can examine everything:
	// counts are compared at the end of a scrub that ran from start to end
	// without another in between.
	//
	// Scrub takes back a lease that has ended if another scrub, at least
	// AbandonedAfter later, finds it unchanged. One scrub is not enough,
	// because every lease looks ended after the clock was set ahead, until it
	// is extended.
	Scrub(ctx context.Context, now task.Millis, cursor string, limit int) (Scrubbed, error)
}

// AbandonedAfter is the minimum time between the scrub that first finds a lease
// ended and the scrub that takes it back. The holder of a lease extends it far
// more often.
const AbandonedAfter = time.Minute

// The sentences of Repairs that several stores make.
const (
	FoundAbandoned  = "its lease had ended and was not extended: it would never have been retried"
	FoundUnknownKey = "its Idempotency-Key had no entry: a repeat of its create would have made another task"
)

// FoundEntry returns the sentence of a Repair that removed an entry from an
// index. exists reports whether the task of the entry exists.
func FoundEntry(index string, exists bool) string {
	if !exists {
		return fmt.Sprintf("the index %q had an entry for it, but there is no such task", index)
	}
	return fmt.Sprintf("the index %q had an entry for it that does not match its record", index)
}

// Scrubbed is the result of one step of a scrub.
type Scrubbed struct {
	Examined int      // records and index entries
	Repairs  []Repair // the violations found, all repaired
	Next     string   // the next cursor; empty means that this was the end
}

// Repair is one finding of a scrub, repaired.
type Repair struct {
	Key   task.Key
	Found string // a sentence: "it had no entry in the due index, and would never have fired"
}
