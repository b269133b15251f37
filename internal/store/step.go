package store

import (
	"context"

	"github.com/foliot/foliot/internal/task"
)

// Step is one step in the life of one record.
type Step struct {
	Key        task.Key
	Transition task.Transition
	Kind       Kind
}

// Kind is the distinction that the rules make between steps.
type Kind uint8

// The kinds.
const (
	Change     Kind = iota // by a client
	Claim                  // the begin of an attempt
	Fire                   // an instant of a schedule
	Extension              // of a lease
	Settlement             // the end of an attempt
	Reaping                // the end of a lease that nobody extended
	Removal                // the end of a record's retention
	Adoption               // a task.Adopt
)

// Changes, Claims, Fires, Extensions and Settlements return the steps of a call.
func Changes(list []task.Change) []Step {
	return steps(list, func(c task.Change) Step { return Step{c.Target(), c, Change} })
}

func Claims(list []task.Claim) []Step {
	return steps(list, func(c task.Claim) Step { return Step{c.Key, c, Claim} })
}

func Fires(list []task.Fire) []Step {
	return steps(list, func(f task.Fire) Step { return Step{f.Key, f, Fire} })
}

func Extensions(list []task.Extension) []Step {
	return steps(list, func(e task.Extension) Step { return Step{e.Key, e, Extension} })
}

func Settlements(list []task.Settlement) []Step {
	return steps(list, func(s task.Settlement) Step { return Step{s.Key, s, Settlement} })
}

func steps[T any](list []T, of func(T) Step) []Step {
	all := make([]Step, len(list))
	for i, x := range list {
		all[i] = of(x)
	}
	return all
}

// ByDispatch reports whether dispatch makes the steps of a call, not a client.
func ByDispatch(steps []Step) bool { return len(steps) > 0 && steps[0].Kind != Change }

// NeedsBody reports whether a step of this kind needs the body of its record, for
// the transition or for the reply.
func (k Kind) NeedsBody() bool { return k == Claim || k == Fire }

// NeedsQuota reports whether the quotas of its namespace matter to a step of this kind.
func (k Kind) NeedsQuota() bool { return k == Change || k == Fire }

// Begins reports whether a step of this kind may begin or end something on the
// store's own account. In a shared store only the owner of the shard may make it.
func (k Kind) Begins() bool { return k == Claim || k == Fire || k == Reaping || k == Removal }

// Steps is the part of a store that changes tasks.
type Steps interface {
	// Transit makes steps in their order, each atomic by itself, and returns one
	// Reply for each. The batch is not atomic: a crash in the middle leaves a
	// prefix of it. Either all steps of a call are Changes, or none. The error of a
	// reply is that of the transition or of another check of kernel.Decide. A step
	// whose kind is not Change can also get ErrUnavailable, if only some shards are
	// unavailable, and then may or may not have been made.
	//
	// now is the clock, rounded up (CeilMillis) for changes, since delays count
	// from it, and down (FloorMillis) for all others, so that none is early.
	//
	// The returned records have their bodies only if the change set them, or in the
	// reply to a claim. A task that a step spawns is created in the same step,
	// unless its name is taken. The record of each Change is signed with the token
	// of ActorOf(ctx) (task.Sign), and no step has an entry in the audit log.
	//
	// A claim or an extension alone need not be durable: after a crash each lease
	// that was not settled has been taken back, or is as if never made.
	Transit(ctx context.Context, now task.Millis, steps []Step) ([]Reply, error)
}
