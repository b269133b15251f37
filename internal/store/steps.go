package store

import (
	"context"

	"github.com/foliot/foliot/internal/task"
)

// Steps is the part of a store that changes tasks.
type Steps interface {
	// Transit makes steps in their order, each atomic by itself, and returns one
	// Reply for each. The batch is not atomic: a crash in the middle leaves a
	// prefix of it. All steps of a call are Changes, or none is. kernel.Decide
	// decides each step: the errors of a reply are
	// those of the transition and of the other checks there. A step whose kind is
	// not Change can also get ErrUnavailable, if only some shards are unavailable,
	// and then may or may not have been made.
	//
	// now is the clock, rounded up (CeilMillis) for changes, since delays count
	// from it, and down (FloorMillis) for all others, so that none is early.
	//
	// The returned records have their bodies only if the change set them, or in
	// the reply to a claim. A task that a step spawns is created in the same step,
	// unless its name is taken. The record of each change is signed with the
	// token of ActorOf(ctx) (task.Sign). The audit log records no step.
	//
	// A claim or an extension alone need not be durable: after a crash each lease
	// that was not settled has been taken back, or is as if never made.
	Transit(ctx context.Context, now task.Millis, steps []Step) ([]Reply, error)
}
