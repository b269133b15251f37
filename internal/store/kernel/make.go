package kernel

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// Optimistic media, which several nodes share, have no lock for a record. They
// compare stamps: a step goes through four phases, round after round, until its
// outcome is known:
//
//	read     the record is read, unless it can be guessed: a create assumes that no
//	         record exists, and a settlement or an extension assumes that the record
//	         is as this node's claim left it
//	decided  Decide decides. If a guessed record leads to a refusal, the record is
//	         read, and the step is decided again
//	written  the new record is written if the record is still the one by which the
//	         step was decided. Otherwise the reply has the current record, and the
//	         step is decided by that
//	ended    the medium and the caller get the result
//
// If several calls change a record at once, the first write is applied, and each other
// call decides its step again by the new record. If a call has two steps of one record,
// they are made one after the other, so they keep their order.

// recorded is a record as a medium has read or written it.
type recorded interface {
	Current() *task.Task // nil means that there is no record
}

// Progress is a step and its progress. R is the medium's record, and X is its own
// part.
type Progress[R recorded, X any] struct {
	store.Step
	Extra X

	KeyOwner   string // the name of the task that has its Idempotency-Key; empty means none, or that the medium has compared it
	Unfinished int64  // occurrences of the schedule, for a fire

	// A medium that accepts changes without a decision sets Pend if the record has such
	// changes, and Stored to the record without them, both after Found. Pend sets Old
	// to their result on Stored, and returns the task that they spawn and the error of
	// a quota. The step is decided by that result, and writes it too.
	Pend   func(Facts) (spawned *task.Task, err error)
	Stored *task.Task

	Old      R
	Body     []byte   // the body of Old, if Kind.NeedsBody
	Decision Decision // the latest with Applied set; its write may still fail
	Reply    store.Reply
	Done     bool
	Put      bool // its write was applied
	FromPut  bool // a write returned Old, so it is as durable as a write

	certainty certainty
	admitted  [2]admission // of the record, and of the spawned task
}

// certainty says how much a step knows about its record.
type certainty uint8

const (
	unknown certainty = iota // nothing
	guessed                  // the record may differ
	seen                     // it was read a moment ago
)

// Begin returns the progress of steps that have not begun.
func Begin[R recorded, X any](steps []store.Step) []*Progress[R, X] {
	all := make([]*Progress[R, X], len(steps))
	for i, st := range steps {
		all[i] = &Progress[R, X]{Step: st}
	}
	return all
}

// Replies returns the replies of steps that Make has made.
func Replies[R recorded, X any](steps []*Progress[R, X]) []store.Reply {
	replies := make([]store.Reply, len(steps))
	for i, p := range steps {
		replies[i] = p.Reply
	}
	return replies
}

// Unknown reports whether the record must be read.
func (p *Progress[R, X]) Unknown() bool { return p.certainty == unknown && !p.Done }

// Guessed reports whether the record may differ from Old.
func (p *Progress[R, X]) Guessed() bool { return p.certainty == guessed }

// Found sets the record that was read.
func (p *Progress[R, X]) Found(r R, body []byte) {
	p.Old, p.Body, p.certainty, p.FromPut, p.Pend = r, body, seen, false, nil
}

// stored returns the record as the medium has written it.
func (p *Progress[R, X]) stored() *task.Task {
	if p.Pend != nil {
		return p.Stored
	}
	return p.Old.Current()
}

// needsQuota reports whether the quotas of its namespace matter to the step.
func (p *Progress[R, X]) needsQuota() bool { return p.Kind.NeedsQuota() || p.Pend != nil }

// AnswerDecided ends the step with its decision. The reply to a claim has the body.
func (p *Progress[R, X]) AnswerDecided() {
	r := p.Decision.Result
	if p.Kind == store.Claim && r.Task != nil && p.Decision.Err == nil {
		t := *r.Task
		t.Request.Body = p.Body
		r.Task = &t
	}
	p.Answer(r, p.Decision.Err)
}

// Answer ends the step.
func (p *Progress[R, X]) Answer(r task.Result, err error) {
	p.Reply, p.Done = store.Reply{Result: r, Err: err}, true
}

// refuse ends the step with an error, unless the refused record was guessed.
func (p *Progress[R, X]) refuse(err error) {
	if p.certainty == guessed {
		var none R
		p.certainty, p.Old = unknown, none
		return
	}
	p.Answer(task.Result{}, err)
}

// RestsOnRead reports whether the step is a change that has written nothing, because the
// record was as it wants it. The record may be another call's write that is not yet durable,
// and a caller that repeats a change takes the reply as proof that it is.
//
// The record can be that of a server that has a successor since, which does not have it. So
// a medium that must be durable makes what the server has now durable, and only after that
// reads whether it has the record.
func (p *Progress[R, X]) RestsOnRead() bool {
	return p.Kind == store.Change && !p.Put && !p.FromPut && p.Old.Current() != nil && (p.Reply.Err == nil || errors.Is(p.Reply.Err, task.ErrExists))
}

// Repeat makes the step again, after its record is read.
func (p *Progress[R, X]) Repeat() { p.Done, p.certainty = false, unknown }

// ending is the way in which a write ended.
type ending uint8

// The endings.
const (
	Written   ending = iota // now, or by an earlier call that lost its reply
	NotYetDue               // by the medium's clock
	NotOwner                // another node owns the shard
	Changed                 // another call has changed the record
	Again                   // it must be decided again, from the same record
	ReadAgain               // the record must be read again
)

// End handles the ending of a write that was decided by Old, and reports whether the
// write was applied: then the step is answered. current is the present record if e is
// Changed. resent is set if the write was sent more than once, so that it may have been
// applied before another call changed the record.
func (p *Progress[R, X]) End(e ending, current R, resent bool) (written bool) {
	if e == Written || e == Changed && resent && p.made(current.Current()) {
		p.Put = true
		p.AnswerDecided()
		return true
	}
	switch e {
	case NotYetDue:
		var err error
		if p.Kind.NeedsBody() && p.Decision.Err == nil {
			err = task.ErrNotDue
		}
		p.Answer(task.Result{}, err)
	case NotOwner:
		p.Answer(task.Result{}, task.ErrLaneChanged)
	case ReadAgain:
		p.certainty = unknown
	case Changed:
		p.Old, p.certainty, p.FromPut = current, seen, true
		if p.Kind.NeedsBody() {
			p.certainty = unknown // its body may have changed too
		}
	}
	return false
}

// made reports whether the step created t. The id proves it even if other calls have
// changed t since, because ids are unique.
func (p *Progress[R, X]) made(t *task.Task) bool {
	made, before := p.Decision.Task, p.Old.Current()
	return t != nil && made != nil && t.ID == made.ID && (before == nil || before.ID != t.ID)
}

// Medium reads and writes the records of steps for Make. The type medium of package
// redisstore implements it, in medium.go.
type Medium[R recorded, X any] interface {
	call() *Call // it embeds a Call

	// Guess returns the record that this node's claim has left, if it is known.
	Guess(task.Key) (R, bool)

	// Prepare is called in each round before the decisions. It reads the records
	// that are Unknown and calls Found or Answer, and gets the inputs of the
	// decisions: owners of Idempotency-Keys, unfinished occurrences.
	Prepare(ctx context.Context, open []*Progress[R, X]) error

	// RoomFor is Facts.Room for a step.
	RoomFor(*Progress[R, X], Need) error

	// Write writes the decisions, and calls End for each of these steps. It calls
	// Kept for those that were written.
	Write(ctx context.Context, decided []*Progress[R, X]) error

	// Finish is called when all steps are done. It calls Repeat for those that must be
	// made again, and then it is called again.
	Finish(ctx context.Context, done []*Progress[R, X]) error

	// Pause waits for d between two rounds, or until ctx or the store ends.
	Pause(ctx context.Context, d time.Duration)
}

// Claimed keeps the records of tasks as this node's claims left them, so the
// settlements that follow need not read them. An outdated record does no harm,
// because a write compares.
type Claimed[R any] struct {
	mu sync.Mutex
	m  map[task.Key]R
}

// Get is a Medium's Guess.
func (c *Claimed[R]) Get(k task.Key) (R, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r, ok := c.m[k]
	return r, ok
}

// Set keeps the record of a task that was claimed.
func (c *Claimed[R]) Set(k task.Key, r R) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.m == nil {
		c.m = map[task.Key]R{}
	}
	c.m[k] = r
}

// Drop forgets the record of a task whose claim has ended or changed.
func (c *Claimed[R]) Drop(k task.Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.m, k)
}

// maxRounds bounds how often a step is decided. In each round at least one of the
// calls that compete for a record succeeds, and a call that keeps failing waits for
// a random time.
const maxRounds = 256

// Make makes steps in their order, and sets their replies.
func Make[R recorded, X any](ctx context.Context, m Medium[R, X], steps []*Progress[R, X]) error {
	for wave := range waves(steps) {
		for _, p := range wave {
			guess(m, p)
		}
		pending := wave
		for round, open := 0, wave; len(open) > 0; round++ {
			if round == maxRounds {
				return fmt.Errorf("task %q in namespace %q: other requests changed it in each of %d tries: repeat the request", open[0].Key.Name, open[0].Key.Namespace, round)
			}
			if round > 3 {
				m.Pause(ctx, rand.N(time.Duration(min(round, 32))*time.Millisecond))
			}
			if err := makeOnce(ctx, m, open); err != nil {
				return err
			}
			if open = undone(open); len(open) > 0 {
				continue
			}
			if err := m.Finish(ctx, pending); err != nil {
				return err
			}
			pending = undone(pending)
			open = pending
		}
	}
	return nil
}

func guess[R recorded, X any](m Medium[R, X], p *Progress[R, X]) {
	switch p.Transition.(type) {
	case task.Create, task.Adopt:
		p.certainty = guessed
		return
	}
	if held, ok := m.Guess(p.Key); ok && p.Kind != store.Claim {
		p.certainty, p.Old = guessed, held
	}
}

func makeOnce[R recorded, X any](ctx context.Context, m Medium[R, X], open []*Progress[R, X]) error {
	if err := m.Prepare(ctx, open); err != nil {
		return err
	}
	if err := begin(ctx, m.call(), open); err != nil {
		return err
	}
	var decided []*Progress[R, X]
	for _, p := range open {
		if p.Done || p.certainty == unknown {
			continue
		}
		d, ok := decide(m, p)
		switch {
		case !ok:
		case !d.Applied:
			p.refuse(d.Err)
		case !d.Writes:
			p.Decision = d
			p.AnswerDecided()
		default:
			p.Decision = d
			decided = append(decided, p)
		}
	}
	if len(decided) == 0 {
		return nil
	}
	defer unadmit(m.call(), decided)
	return m.Write(ctx, decided)
}

// waves divides steps so that no wave has two steps with the same record or the
// same Idempotency-Key.
func waves[R recorded, X any](steps []*Progress[R, X]) iter.Seq[[]*Progress[R, X]] {
	return func(yield func([]*Progress[R, X]) bool) {
		for len(steps) > 0 {
			var now, later []*Progress[R, X]
			met := make(map[task.Key]bool, len(steps))
			for _, p := range steps {
				keys := []task.Key{p.Key}
				if digest := task.KeyOf(p.Transition); digest != "" {
					keys = append(keys, task.Key{Namespace: p.Key.Namespace, Name: "/" + digest}) // no name has a slash
				}
				if met[keys[0]] || met[keys[len(keys)-1]] {
					later = append(later, p)
				} else {
					now = append(now, p)
				}
				for _, k := range keys {
					met[k] = true
				}
			}
			if !yield(now) {
				return
			}
			steps = later
		}
	}
}

func undone[R recorded, X any](steps []*Progress[R, X]) (open []*Progress[R, X]) {
	for _, p := range steps {
		if !p.Done {
			open = append(open, p)
		}
	}
	return open
}
