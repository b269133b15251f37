package pgstore

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/kernel"
	"github.com/foliot/foliot/internal/store/sqltask"
	"github.com/foliot/foliot/internal/task"
)

// step is a step and its progress.
type step = kernel.Progress[sqltask.Record, extra]

// extra is the store's own part of a step.
type extra struct {
	after  sqltask.Record // the record as the step leaves it
	locked time.Time      // when another transaction had first locked the record
}

// medium is one call that is being applied, as a kernel.Medium.
type medium struct {
	*Store
	kernel.Call
	foreign bool // the transaction is the user's
}

// Transit implements store.Steps.
func (s *Store) Transit(ctx context.Context, now task.Millis, list []store.Step) ([]store.Reply, error) {
	return store.Call(ctx, &s.calls, func() ([]store.Reply, error) { return s.transit(ctx, now, list) })
}

func (s *Store) transit(ctx context.Context, now task.Millis, list []store.Step) ([]store.Reply, error) {
	steps := kernel.Begin[sqltask.Record, extra](list)
	m := &medium{Store: s, foreign: transactionOf(ctx) != nil, Call: kernel.Call{At: now, Who: settings.ActorOf(ctx), Policy: s.config.Policy, Quotas: &s.quotas, Wrote: s.Watchers.Wrote}}
	if err := kernel.Make(ctx, m, steps); err != nil {
		return nil, err
	}
	return kernel.Replies(steps), nil
}

func (m *medium) Guess(key task.Key) (sqltask.Record, bool) { return m.claimed.Get(key) }

func (m *medium) Pause(ctx context.Context, d time.Duration) {
	pause(ctx, d)
}

// Finish waits, at the level strict, until the records that steps have only found are on a
// standby. The COMMIT of another call may have left them with a warning.
func (m *medium) Finish(ctx context.Context, steps []*step) error {
	var rows []same
	var of []*step
	for _, st := range steps {
		if st.RestsOnRead() {
			rows, of = append(rows, same{sqltask.Key(st.Key), st.Old.Stamp}), append(of, st)
		}
	}
	if m.config.Durability != strictLevel || m.foreign || len(rows) == 0 {
		return nil
	}
	still, err := transact(ctx, m.Store, pgx.RowTo[bool], change{how: synced, sql: areSame, args: columns(rows)})
	if err != nil {
		return err
	}
	for i, st := range of {
		if !still[i] {
			st.Repeat()
		}
	}
	return nil
}

// areSame returns for each record whether the server has it.
var areSame = `
SELECT EXISTS (SELECT FROM foliot.task t WHERE t.key = u.key AND t.stamp = u.stamp)
FROM ` + inputOf[same]() + `, (` + waitAnyway + `) wait ORDER BY u.ord`

type same struct {
	Key   string
	Stamp int64
}

func (m *medium) Prepare(ctx context.Context, open []*step) error {
	if err := m.skipLocked(ctx, open); err != nil {
		return err
	}
	var keys []task.Key
	var bodies []bool
	var of []*step
	for _, st := range open {
		if st.Unknown() {
			keys, bodies, of = append(keys, st.Key), append(bodies, st.Kind.NeedsBody()), append(of, st)
		}
	}
	all, err := m.read(ctx, keys, bodies)
	if err != nil {
		return err
	}
	for i, f := range all {
		st := of[i]
		if f.Err != nil { // a damaged record must not block the other records of the call
			st.Answer(task.Result{}, f.Err)
			continue
		}
		st.Found(f.Record, f.Body)
		if a, is := st.Transition.(*sqltask.Applying); is {
			a.Pending = f.Pending != nil
		}
		if f.Pending != nil {
			st.Stored, st.Pend = f.Stored, func(facts kernel.Facts) (*task.Task, error) { return st.Old.Apply(m.config.Embedded, st.Key, facts) }
		}
		if st.Kind == store.Fire && f.Task != nil {
			st.Old.Task = f.WithBody()
			if st.Unfinished, err = m.unfinished(ctx, st.Key); err != nil {
				return err
			}
		}
	}
	return m.findOwners(ctx, open)
}

// findOwners finds the tasks that have the Idempotency-Keys of steps.
func (m *medium) findOwners(ctx context.Context, steps []*step) error {
	var keys [][]byte
	of := map[string]*step{} // the steps of a call have different keys
	for _, st := range steps {
		if digest := task.KeyOf(st.Transition); digest != "" && !st.Done {
			key := sqltask.Idem(st.Key.Namespace, digest)
			keys = append(keys, key)
			of[string(key)] = st
			st.KeyOwner = ""
		}
	}
	if len(keys) == 0 {
		return nil
	}
	type owner struct {
		Idem []byte
		Key  string
	}
	owners, err := query(ctx, m.Store, pgx.RowToStructByPos[owner], "SELECT idem, key FROM foliot.task WHERE idem = ANY($1)", keys)
	for _, o := range owners {
		k, err := sqltask.ParseKey(o.Key)
		if err != nil {
			return err
		}
		of[string(o.Idem)].KeyOwner = k.Name
	}
	return err
}

// unfinished returns the number of unfinished occurrences of a schedule. Their names
// follow one another, but names of on_dead tasks are among them: see task.OccurrenceOf.
func (s *Store) unfinished(ctx context.Context, schedule task.Key) (int64, error) {
	from := schedule.Namespace + "/" + schedule.Name[1:] + "@"
	all, err := query(ctx, s, pgx.RowTo[int64], `SELECT count(*) FROM foliot.task WHERE key >= $1 AND key < $2 AND lane IS NOT NULL AND key ~ '@(0|[1-9][0-9]*)(\.[^@]+)?$'`, from, from[:len(from)-1]+"A")
	if err != nil {
		return 0, err
	}
	return all[0], nil
}

// RoomFor implements kernel.Medium. PostgreSQL refuses a write for which the disk has no
// room.
func (m *medium) RoomFor(*step, kernel.Need) error { return nil }

func (m *medium) Write(ctx context.Context, decided []*step) error {
	if decided[0].Kind != store.Change {
		m.worked()
	}
	var extensions, alone, others []*step
	for _, st := range decided {
		switch {
		case st.Kind == store.Extension && st.Old.Pending == nil:
			extensions = append(extensions, st)
		case !m.foreign && st.Kind == store.Change && st.Old.Task == nil && m.met.Has(st.Key):
			alone = append(alone, st)
		default:
			others = append(others, st)
		}
	}
	if err := m.extend(ctx, extensions); err != nil {
		return err
	}
	for _, st := range alone {
		if err := m.writeSteps(ctx, []*step{st}, m.writeAlone); err != nil {
			return err
		}
	}
	if m.foreign {
		return m.writeSteps(ctx, others, m.write)
	}
	return m.writeSteps(ctx, others, m.together.Do)
}

// writeAlone writes rows if the name of one may be locked. Few calls do that at a time,
// because the connections are for all.
func (s *Store) writeAlone(ctx context.Context, rows []sqltask.Row, c class) ([]ending, error) {
	if err := s.loners.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer s.loners.Release(1)
	return s.write(ctx, rows, byItself(c))
}

func byItself(c class) class {
	c.alone = true
	return c
}

// writeSteps writes steps, or each half apart if another transaction locks the name of
// a task that one of them creates.
func (m *medium) writeSteps(ctx context.Context, steps []*step, write func(context.Context, []sqltask.Row, class) ([]ending, error)) error {
	if len(steps) == 0 {
		return nil
	}
	endings, err := write(ctx, m.rowsOf(steps), m.classOf(steps))
	switch state := code(err); {
	case err == nil, m.foreign: // an error has ended the user's transaction
	case state == uniqueViolation, state == deadlock, state == serialization: // another call has taken an Idempotency-Key of these records, or the locks
		endings, err = make([]ending, len(steps)), nil
		for i := range endings {
			endings[i] = changed
		}
	case state == lockTimeout && len(steps) == 1:
		m.met.Add(steps[0].Key)
		endings, err = []ending{skipped}, nil
	case state == lockTimeout:
		half := len(steps) / 2
		if err := m.writeSteps(ctx, steps[:half], m.writeAlone); err != nil {
			return err
		}
		return m.writeSteps(ctx, steps[half:], m.writeAlone)
	}
	if err != nil {
		return err
	}
	m.end(ctx, steps, endings)
	if slices.Contains(endings, outdated) {
		return m.reload(ctx)
	}
	return nil
}

// end ends the writes of steps.
func (m *medium) end(ctx context.Context, steps []*step, endings []ending) {
	for i, st := range steps {
		e := kernel.ReadAgain
		switch endings[i] {
		case written:
			st.End(kernel.Written, sqltask.Record{}, false)
			m.kept(st)
			continue
		case skipped:
			if err := m.locked(ctx, st); err != nil {
				st.Answer(task.Result{}, err)
				continue
			}
		case outdated:
			e = kernel.Again
		case early:
			e = kernel.NotYetDue
		case notOwner:
			e = kernel.NotOwner
		}
		m.claimed.Drop(st.Key)
		st.End(e, sqltask.Record{}, false)
	}
}

// kept records that st was written.
func (m *medium) kept(st *step) {
	if m.foreign { // its counts count when the owner reads the news
		st.Wrote(&m.Call, true)
	} else {
		st.Kept(&m.Call, true)
		if t := st.Old.Task; st.Pend != nil && t != nil && t != st.Stored && t.State == task.Dead && m.config.OnReap != nil { // a put was refused
			m.config.OnReap([]*task.Task{t})
		}
	}
	if t := st.Decision.Task; !m.foreign && t != nil && t.State == task.Running && (st.Kind == store.Claim || st.Kind == store.Extension) {
		m.claimed.Set(st.Key, sqltask.Record{Task: t.WithoutBody(), Stamp: st.Extra.after.Stamp, Inline: st.Extra.after.Inline})
	} else {
		m.claimed.Drop(st.Key)
	}
}
