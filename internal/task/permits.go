package task

import (
	"context"
	"time"
)

// Permits is what a store has besides that several dispatchers share: limits of
// queues that hold over all of them. Each asks for a part of a limit, has it for
// the length of a lease, and gives back what it does not need.
//
// At any moment the permits that are held come to no more than the limit, and
// the tokens given to no more than burst + rate·time, but for what was held
// when a limit was lowered. A part ends with its lease: what is under way then
// goes on, and others may have it.
type Permits interface {
	// Shared reports whether other processes may use the store. Otherwise a
	// dispatcher counts by itself, and asks for nothing.
	Shared() bool

	// Permit carries out asks, each by itself, of different scopes. Of one scope
	// there is one ask under way at a time. One that failed may have been carried
	// out: the next one of its scope makes up for it.
	Permit(ctx context.Context, asks []PermitAsk) []PermitReply

	// WatchPermits sets the function that is told of scopes of which it is worth
	// to ask: others gave back what this process waits for, or wait for what it has.
	// It must not block, and may miss some. nil removes it.
	WatchPermits(hint func([]PermitScope))
}

// PermitScope is what a limit is of: a queue, or one destination of it.
type PermitScope struct {
	Namespace, Queue string
	Destination      string // "": the queue as a whole
}

// PermitAsk says what a dispatcher has of a scope, and what it could use.
type PermitAsk struct {
	PermitScope

	// Concurrency is the limit of attempts under way, 0 for none. Keep is how many
	// permits the caller goes by until it has the reply, at most: fewer than it
	// held are given back with this. Want is how many it could use.
	Concurrency int
	Keep, Want  int

	// Rate and Burst are the limit of starts, 0 for none. Used is how many tokens
	// this process has used since it began with the scope, UsedAgo how long ago the
	// last one. Tokens is how many it could use now: fewer than it has are given back.
	Rate    float64
	Burst   int
	Used    uint64
	UsedAgo time.Duration
	Tokens  int
}

// PermitReply is what a dispatcher has from now on.
type PermitReply struct {
	Err error

	Lease time.Duration // it ends so long after the ask was sent

	Held  int // permits
	Share int // to which Held is to fall, as others wait for the rest, -1: nobody waits

	Tokens int           // on hand, those used after the ask was sent included
	After  time.Duration // so long after the reply came the last of Tokens may be used

	// Again is after how long to ask again: there may be more, or it may be somebody
	// else's turn. 0: when something has changed.
	Again time.Duration
}
