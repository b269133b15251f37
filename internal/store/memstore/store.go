package memstore

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/foliot/foliot/internal/history"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// Config configures a Store, and its zero value works.
type Config struct {
	// Policy sets how long records are kept after their end, where zero fields
	// have the defaults of task.Policy.
	Policy task.Policy

	// AuditKeep is how long entries of the audit log are kept. Default: 30
	// days.
	AuditKeep time.Duration
}

// Store is a store.Store that forgets everything when the process ends, and runs
// nothing in the background. Each read of more than one record costs O(tasks), and
// so do Reap, Sweep, Scrub, fires, and changes in a namespace that has quotas.
type Store struct {
	policy    task.Policy
	auditKeep time.Duration

	// Watchers are called by the goroutine that made the change, before it returns
	// the reply. The functions can call the store, but not Configure.
	store.Watchers

	// settings is written by Configure under mu, and read without it.
	settings atomic.Pointer[settings.Settings]
	// configuring is held during all of Configure, so that the watcher gets the
	// settings in their order, and taken before mu.
	configuring sync.Mutex

	mu          sync.Mutex // guards everything below
	records     map[task.Key]*task.Task
	bodies      map[task.Key][]byte   // apart from the records, which change far more often
	idem        map[idemKey]string    // the name of the record that was created with the key
	hints       []task.Entry          // hints of the call under way
	log         []settings.AuditEntry // the oldest first
	seq         uint64                // the Seq of the newest entry ever made
	past        []history.Part
	endedLeases map[lease]task.Millis // when a scrub first found each ended
	closed      bool
}

// idemKey is an Idempotency-Key's digest; namespaces do not share keys.
type idemKey struct{ namespace, digest string }

// New returns an empty Store.
func New(c Config) *Store {
	s := &Store{
		policy:      c.Policy.WithDefaults(),
		auditKeep:   cmp.Or(c.AuditKeep, store.DefaultAuditKeep),
		records:     map[task.Key]*task.Task{},
		bodies:      map[task.Key][]byte{},
		idem:        map[idemKey]string{},
		endedLeases: map[lease]task.Millis{},
	}
	s.settings.Store(settings.NewSettings())
	return s
}

// Transit makes steps, one after the other, in one critical section.
func (s *Store) Transit(ctx context.Context, now task.Millis, steps []store.Step) ([]store.Reply, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.leave()
	replies := make([]store.Reply, len(steps))
	for i, st := range steps {
		switch st.Kind {
		case store.Change:
			replies[i] = s.changeLocked(now, settings.ActorOf(ctx), st.Transition.(task.Change))
		case store.Fire:
			replies[i] = s.fireLocked(now, st)
		default:
			replies[i] = s.stepLocked(now, st.Key, st.Transition)
		}
		if t := replies[i].Task; st.Kind == store.Claim && t != nil && replies[i].Err == nil {
			replies[i].Task = s.withBodyLocked(t)
		}
	}
	return replies, nil
}

// changeLocked applies a client's change within its quotas.
func (s *Store) changeLocked(now task.Millis, who settings.Actor, c task.Change) store.Reply {
	if s.reusesKeyLocked(c) {
		return store.Reply{Err: task.ErrIdempotencyReuse}
	}
	old := s.records[c.Target()]
	result, err := c.Apply(now, old, s.factsOf(old))
	if err == nil && result.Task != old {
		err = s.admitLocked(old, result.Task)
	}
	if err != nil {
		return store.Reply{Err: err}
	}
	task.Sign(now, who.Token, c, old, result)
	s.keepLocked(result)
	return store.Reply{Result: result}
}

// Get returns the task with its body.
func (s *Store) Get(ctx context.Context, key task.Key) (*task.Task, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.leave()
	t := s.records[key]
	if t == nil {
		return nil, task.ErrNotFound
	}
	return s.withBodyLocked(t), nil
}

// List returns one page of the tasks of f.Namespace that match f.
func (s *Store) List(ctx context.Context, f task.Filter, page task.Page) (task.Listing, error) {
	if err := s.enter(ctx); err != nil {
		return task.Listing{}, err
	}
	defer s.leave()
	return s.pageLocked(&f, page, func(t *task.Task) string {
		switch {
		case page.ByEnd == 0:
			return t.Name
		case t.State.Live() || t.KeepUntil <= page.ByEnd:
			return ""
		}
		return t.EndedPlace()
	}), nil
}

// pageLocked returns one page of the tasks that match f, in the order of their
// places, without tasks that have none.
func (s *Store) pageLocked(f *task.Filter, page task.Page, placeOf func(*task.Task) string) (l task.Listing) {
	in := map[string]*task.Task{}
	for _, t := range s.records {
		if t.Namespace != f.Namespace {
			continue
		}
		if place := placeOf(t); place > page.After && (page.Before == "" || place < page.Before) {
			in[place] = t
		}
	}
	weight := 0
	for i, place := range slices.Sorted(maps.Keys(in)) {
		if i == task.MaxPageExamined || len(l.Tasks) == page.Limit || weight >= task.MaxPageBytes {
			return l
		}
		l.Next = place
		t := in[place]
		if !f.Match(t) {
			continue
		}
		if page.Bodies {
			t = s.withBodyLocked(t)
		}
		weight += t.Weight()
		l.Tasks = append(l.Tasks, t)
	}
	l.Next = ""
	return l
}

// Standing returns the settings, the level "memory" (no state outlives the
// process), and task.ErrClosed after Close.
func (s *Store) Standing() store.Standing {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := store.Standing{Durability: "memory", Settings: s.settings.Load()}
	if s.closed {
		st.Err = task.ErrClosed
	}
	return st
}

// Close makes every later call fail with task.ErrClosed, and never fails itself.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.records, s.bodies, s.idem, s.log, s.endedLeases = nil, nil, nil, nil, nil
	return nil
}

// enter takes the lock for a call, or fails if the call cannot be made.
func (s *Store) enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return task.ErrClosed
	}
	return nil
}

// leave ends the call that enter began and then calls the watcher, outside the
// lock, because the watcher can call the store.
func (s *Store) leave() {
	hint, entries := s.Tasks(), s.hints
	s.hints = nil
	s.mu.Unlock()
	if hint != nil && len(entries) > 0 {
		hint(entries)
	}
}

func (s *Store) stepLocked(now task.Millis, key task.Key, tr task.Transition) store.Reply {
	old := s.records[key]
	return s.transitLocked(now, old, tr, s.factsOf(old))
}

func (s *Store) transitLocked(now task.Millis, old *task.Task, tr task.Transition, f task.Facts) store.Reply {
	result, err := tr.Apply(now, old, f)
	if !task.Applied(err) {
		return store.Reply{Err: err}
	}
	s.keepLocked(result)
	return store.Reply{Result: result, Err: err}
}

func (s *Store) keepLocked(r task.Result) {
	s.putLocked(r.Task)
	if t := r.Spawned; t != nil && s.records[t.Key()] == nil {
		s.putLocked(t)
	}
}

// factsOf returns the facts for a transition of t, which may be nil: the
// retention of its queue.
func (s *Store) factsOf(t *task.Task) task.Facts {
	if t == nil {
		return task.Facts{Policy: s.policy}
	}
	return task.Facts{Policy: s.settings.Load().Policy(s.policy, t.Namespace, t.Queue)}
}

// putLocked replaces the record of t's name with t, but the stored body stays if t
// does not carry its body.
func (s *Store) putLocked(t *task.Task) {
	key, old := t.Key(), s.records[t.Key()]
	switch {
	case t.Request.BodySize == 0:
		delete(s.bodies, key)
	case t.Request.Body != nil:
		s.bodies[key] = t.Request.Body
	}
	s.forgetKeyLocked(old)
	if t.Idempotency != nil {
		s.idem[idemKey{t.Namespace, t.Idempotency.Key}] = t.Name
	}
	s.records[key] = t.WithoutBody()
	s.Wrote(old, t)
	if e, ok := task.Hint(old, t); ok {
		s.hints = append(s.hints, e)
	}
}

func (s *Store) removeLocked(t *task.Task) {
	delete(s.records, t.Key())
	delete(s.bodies, t.Key())
	s.forgetKeyLocked(t)
}

func (s *Store) forgetKeyLocked(t *task.Task) {
	if t != nil && t.Idempotency != nil {
		delete(s.idem, idemKey{t.Namespace, t.Idempotency.Key})
	}
}

// reusesKeyLocked reports whether c carries an Idempotency-Key that made a task
// of another name, which is still kept.
func (s *Store) reusesKeyLocked(c task.Change) bool {
	digest := task.KeyOf(c)
	if digest == "" {
		return false
	}
	name, used := s.idem[idemKey{c.Target().Namespace, digest}]
	return used && name != c.Target().Name
}

func (s *Store) withBodyLocked(t *task.Task) *task.Task {
	c := *t
	c.Request.Body = s.bodies[t.Key()]
	return &c
}

// sortedLocked returns the records for which keep returns true, ordered by
// when, then by name, then by namespace.
func (s *Store) sortedLocked(keep func(*task.Task) bool, when func(*task.Task) task.Millis) []*task.Task {
	all := slices.Collect(maps.Values(s.records))
	chosen := slices.DeleteFunc(all, func(t *task.Task) bool { return !keep(t) })
	slices.SortFunc(chosen, func(a, b *task.Task) int {
		return cmp.Or(cmp.Compare(when(a), when(b)), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Namespace, b.Namespace))
	})
	return chosen
}
