package store

import (
	"context"
	"time"
)

// PermitStore is the part of a store for limits that several dispatchers share:
// the limits of a queue hold over all of them. Each dispatcher requests a share
// of a limit, holds it for the length of a lease, and returns the part it does
// not need.
//
// At any moment the permits held are at most the limit, and the tokens given
// are at most burst + rate·time. The exception is a share that was held when
// the limit was lowered. A share ends with its lease: attempts under way
// continue, and other dispatchers can get it.
type PermitStore interface {
	// Permit applies asks, each by itself. Their scopes differ, and each scope
	// has at most one ask under way, so the next ask corrects a failed one that
	// was applied.
	Permit(ctx context.Context, asks []PermitAsk) []PermitReply
}

// PermitScope identifies a limit: a queue, or one destination of a queue.
type PermitScope struct {
	Namespace, Queue string
	Destination      string // "": the queue as a whole
}

// PermitAsk states the permits a dispatcher holds in a scope and the permits it
// could use.
type PermitAsk struct {
	PermitScope

	// Concurrency is the limit of attempts under way, 0 for none. Keep is the
	// largest number of permits that the caller uses until it has the reply:
	// any other permits it held are returned with this ask. Want is how many
	// it could use.
	Concurrency int
	Keep, Want  int

	// Rate and Burst are the limit of starts, 0 for none. Used is how many
	// tokens this process has used since it began with the scope, and UsedAgo
	// is the time since the last one. Tokens is how many it could use now: any
	// other permits it has are returned.
	Rate    float64
	Burst   int
	Used    uint64
	UsedAgo time.Duration
	Tokens  int
}

// PermitReply is the share that a dispatcher holds from now on.
type PermitReply struct {
	Err error

	Lease time.Duration // the share ends this long after the ask was sent

	Held  int // permits
	Share int // Held must shrink to this, because other dispatchers wait for the rest; -1 means that no other dispatcher waits

	Tokens int           // on hand, including those used after the ask was sent
	After  time.Duration // the last of Tokens can be used this long after the reply came

	// Again is when to ask again: there may be more permits, or another
	// dispatcher may be next. Zero means when something has changed.
	Again time.Duration
}
