package redisstore

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"time"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/kernel"
	"github.com/foliot/foliot/internal/store/redisstore/keyspace"
	"github.com/foliot/foliot/internal/store/redisstore/records"
	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
	"github.com/foliot/foliot/internal/task"
)

// A change of a record goes through four phases, round after round, until its
// outcome is known:
//
//	read     the record is read from the server, unless it can be guessed: a create
//	         assumes that no record exists, and a settlement or an extension assumes that
//	         the record is as this node's claim left it
//	applied  the transition decides. If a guessed record leads to a refusal, the record
//	         is read, and the transition is applied again
//	put      the new record is written if the record is still the one to which the
//	         transition was applied. Otherwise the reply contains the current record,
//	         and the transition is applied to that
//	notified low-water marks of lanes, watcher and caller get the result
//
// The first put wins, and the other calls apply their change again. If a call
// has two steps on one record, they are handled one after the other, so they
// keep their order.

// maxRounds bounds how often a step is applied. In each round at least one of
// the calls that compete for a record succeeds. A call that keeps failing waits
// for a random time.
const maxRounds = 256

// backOff waits before a round if several rounds have failed.
func (s *Store) backOff(ctx context.Context, round int) {
	if round > 3 {
		s.servers.Pause(ctx, rand.N(time.Duration(min(round, 32))*time.Millisecond))
	}
}

// step is the change of one record by a call, and its progress.
type step struct {
	store.Step
	unfinished int64 // occurrences of the schedule, for a fire

	certainty certainty
	old       records.Record
	body      []byte          // the body of old, if Kind needs it
	result    kernel.Decision // the latest that was applied
	after     records.Record  // the record as the item leaves it
	reply     store.Reply
	asked     bool       // its Idempotency-Key was requested
	fresh     bool       // the key was taken for this step
	spawns    *task.Task // the task that a fire creates; counted into its namespace's quotas before the put
	admitted  bool       // counted into its namespace's quotas before it was put
	put       bool       // its item was applied
	fromPut   bool       // a put returned old, so replicas have confirmed it
	done      bool
}

// certainty says how much a step knows about its record.
type certainty uint8

const (
	unknown certainty = iota // nothing
	guessed                  // the record may differ
	seen                     // it was read a moment ago
)

// request is one call that is being applied.
type request struct {
	now   task.Millis
	who   settings.Actor
	steps []*step

	provisional int         // steps that quotas have admitted on a guess in this round
	unconfirmed bool        // the level is Default, and no replica confirmed some of its writes
	known       fenceTokens // the fences that the settings of this round have passed
}

func (st *step) answer(r task.Result, err error) {
	st.reply, st.done = store.Reply{Result: r, Err: err}, true
}

// refuse ends the step with an error, unless the refused record was guessed.
func (st *step) refuse(err error) {
	if st.certainty == guessed {
		st.certainty, st.old = unknown, records.Record{}
		return
	}
	st.answer(task.Result{}, err)
}

// applySteps applies r's steps and sets their replies.
func (s *Store) applySteps(ctx context.Context, r *request) error {
	s.latest.See(r.now)
	for wave := range waves(r.steps) {
		for _, st := range wave {
			s.guess(st)
		}
		for round, open := 0, wave; len(open) > 0; round++ {
			if round == maxRounds {
				return fmt.Errorf("task %q in namespace %q was changed by other requests in each of %d attempts: repeat the request", open[0].Key.Name, open[0].Key.Namespace, round)
			}
			s.backOff(ctx, round)
			if err := s.round(ctx, r, open); err != nil {
				return err
			}
			open = undone(open)
		}
		if err := s.confirm(ctx, r, wave); err != nil {
			return err
		}
		s.releaseKeys(ctx, wave)
	}
	return nil
}

// waves divides steps so that no wave has two steps with the same record or the
// same Idempotency-Key.
func waves(steps []*step) iter.Seq[[]*step] {
	return func(yield func([]*step) bool) {
		for len(steps) > 0 {
			var now, later []*step
			met := make(map[task.Key]bool, len(steps))
			for _, st := range steps {
				keys := []task.Key{st.Key}
				if digest := digestOf(st.Transition); digest != "" {
					keys = append(keys, task.Key{Namespace: st.Key.Namespace, Name: "/" + digest}) // no name has a slash
				}
				if met[keys[0]] || met[keys[len(keys)-1]] {
					later = append(later, st)
				} else {
					now = append(now, st)
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

func undone(steps []*step) (open []*step) {
	for _, st := range steps {
		if !st.done {
			open = append(open, st)
		}
	}
	return open
}

// guess sets the likely record of st.
func (s *Store) guess(st *step) {
	if _, create := st.Transition.(task.Create); create {
		st.certainty = guessed
		return
	}
	if held, ok := s.claimed.get(st.Key); ok && st.Kind != store.Claim {
		st.certainty, st.old = guessed, held
	}
}

// round reads, applies and puts the open steps once.
func (s *Store) round(ctx context.Context, r *request, open []*step) error {
	if err := s.readRecords(ctx, open); err != nil {
		return err
	}
	if err := s.reserve(ctx, open); err != nil {
		return err
	}
	if err := s.quotas.refresh(ctx, s.Settings(), open, s.readCounts); err != nil {
		return err
	}
	r.provisional, r.known = 0, s.fences.known() // read before the settings, so the settings are not older
	if err := s.unmark(ctx, r.now, open); err != nil {
		return err
	}
	var items []redisconn.Item
	var of []*step // the steps of the items; nil means that the item is a task spawned by the step before it
	for _, st := range open {
		if !s.apply(r, st) {
			continue
		}
		items, of = append(items, s.item(r, st)), append(of, st)
		if t := st.result.Spawned; t != nil {
			spawned, _ := records.Replacement(s.shard(t.Key()), records.Record{}, t)
			spawned.With = true
			s.lanes.Wake(&spawned, nil, t)
			items, of = append(items, spawned), append(of, nil)
		}
	}
	if len(items) == 0 {
		return nil
	}
	defer s.unspawn(open)
	outcomes, at, err := s.put(ctx, r, items)
	if err != nil {
		for _, st := range open {
			s.unadmit(st)
		}
		return err
	}
	var entries []task.Entry
	for i, o := range outcomes {
		r.unconfirmed = r.unconfirmed || o.Unconfirmed
		if of[i] == nil {
			if t := of[i-1].result.Spawned; o.Status == redisconn.Applied || outcomes[i-1].Status == redisconn.AlreadyApplied {
				fired := of[i-1]
				s.quotas.commit(t.Namespace, nil, t, fired.spawns != nil)
				fired.spawns = nil
				entries = append(entries, t.Entry())
			}
			continue
		}
		entries = append(entries, s.applyOutcome(r, of[i], o, at)...)
	}
	s.lanes.Added(entries)
	return s.passFences(ctx, outcomes, items)
}

// apply decides st, and reports whether there is a change to write.
func (s *Store) apply(r *request, st *step) bool {
	if st.done || st.certainty == unknown {
		return false
	}
	f := facts{s, st, s.Settings()}
	limited := (st.Kind == store.Change || st.Kind == store.Fire) && s.quotas.limits(f.settings, st.Key.Namespace) != nil
	if limited {
		s.quotas.deciding.Lock()
		defer s.quotas.deciding.Unlock()
	}
	d := kernel.Decide(r.now, &st.Step, "", st.old.Task, &f) // reserve has checked the owner of its Idempotency-Key
	var quota *task.QuotaError
	switch {
	case d.Applied:
		st.result = d
	case r.provisional > 0 && st.certainty == seen && errors.As(d.Err, &quota): // perhaps the task that fills the quota is not created: the next round decides
		return false
	default:
		st.refuse(d.Err)
		return false
	}
	if !d.Writes {
		st.answer(s.withBody(st), d.Err)
		return false
	}
	switch {
	case !limited:
	case st.Kind == store.Change:
		s.quotas.begin(st.old.Task, d.Task)
		if st.admitted = true; st.certainty == guessed {
			r.provisional++
		}
	case d.Spawned != nil:
		st.spawns = d.Spawned
		s.quotas.begin(nil, st.spawns)
	}
	return true
}

// facts are the inputs of a decision besides the record. With quotas, the caller
// holds quotas.deciding.
type facts struct {
	*Store
	st       *step
	settings *settings.Settings
}

// Settings implements kernel.Facts.
func (f *facts) Settings() *settings.Settings { return f.settings }

// Retention implements kernel.Facts.
func (f *facts) Retention() task.Policy { return f.config.Policy }

// Quota implements kernel.Facts.
func (f *facts) Quota(namespace string) task.Quota { return f.quotas.of(f.settings, namespace) }

// Unfinished implements kernel.Facts.
func (f *facts) Unfinished(task.Key) int64 { return f.st.unfinished }

// Room implements kernel.Facts.
func (f *facts) Room(need kernel.Need) error {
	if need == kernel.MorePending {
		return f.servers.Room(f.shard(f.st.Key))
	}
	return nil
}

// item returns the item to put for st. Only the shard's owner is allowed to
// begin an attempt (claim) or to end a task on its own (reap, remove). A
// settlement or an extension needs only the lease's token, and the stamp proves
// that the record still has that token. So a node that has lost the shard can
// finish its claims, and no attempt is sent again.
func (s *Store) item(r *request, st *step) redisconn.Item {
	it, after := records.Replacement(s.shard(st.Key), st.old, st.result.Task)
	st.after = after
	s.lanes.Wake(&it, st.old.Task, st.result.Task)
	if st.Kind.Begins() {
		it.Owner = s.own.Owner(it.Shard)
	}
	it.More = st.result.Need == kernel.MorePending
	switch st.Kind {
	case store.Claim:
		it.Earliest = st.old.Task.Due
	case store.Fire: // unless the end of an occurrence was the reason
		if st.old.Task.Due <= r.now {
			it.Earliest = st.old.Task.Due
		}
	case store.Reaping:
		it.Earliest = st.old.Task.Lease.Until
	case store.Removal:
		it.Earliest = st.old.Task.KeepUntil
	case store.Change:
		if e, ok := settings.AuditChange(r.now, r.who, st.Transition.(task.Change), st.result.Result); ok && s.log.Kept() {
			logEntry(&it, e)
		}
	}
	return it
}

// confirm waits until earlier writes of other calls are durable. Such a call
// may have returned task.ErrNotDurable. confirm waits for the replicas of two
// kinds of records: those that a step found already changed, and those that a
// create found under its name. If a create without Idempotency-Key is repeated,
// the reply is task.ErrExists, and its caller takes that as proof that the
// first create succeeded. A put that returns a record has already waited for
// the replicas.
func (s *Store) confirm(ctx context.Context, r *request, steps []*step) error {
	var shards []*keyspace.Shard
	for _, st := range steps {
		found := st.reply.Err == nil || errors.Is(st.reply.Err, task.ErrExists) && !st.fromPut
		if found && !st.put && st.Kind == store.Change {
			shards = append(shards, s.shard(st.Key))
		}
	}
	if len(shards) == 0 {
		return nil
	}
	unconfirmed, err := s.servers.Confirm(ctx, shards)
	r.unconfirmed = r.unconfirmed || unconfirmed
	return err
}
