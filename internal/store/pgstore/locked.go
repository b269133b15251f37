package pgstore

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/sqltask"
	"github.com/foliot/foliot/internal/task"
)

// dispatchWaits and clientWaits are how long the steps of dispatch and of clients try to
// lock a record. Other calls of this store hold locks for a shorter time, but a user's
// transaction can hold them for long. No step waits long for a lock: that would hold up
// the steps that are written with it.
const dispatchWaits, clientWaits = 100 * time.Millisecond, time.Second

// locked returns the error of a step after too many tries to lock its record, nil to
// try again.
func (m *medium) locked(ctx context.Context, st *step) error {
	since := &st.Extra.locked
	if since.IsZero() {
		*since = time.Now()
	}
	most := dispatchWaits
	if st.Kind == store.Change || st.Kind == store.Fire { // many nodes may fire a schedule at once
		most = clientWaits
	}
	_, applies := st.Transition.(*sqltask.Applying)
	switch waited := time.Since(*since); {
	case st.Kind == store.Claim: // the tasks that are claimed with it must not wait for it
		m.met.Add(st.Key)
		return task.ErrLaneChanged
	case st.Kind == store.Extension: // its holder tries again later
	case st.Kind == store.Settlement && applies: // and so does applyAll
	case st.Kind == store.Fire && m.met.Has(st.Key): // those that are fired with it have waited before
		m.met.Add(st.Key)
	case waited < most:
		return nil
	case st.Kind == store.Fire:
		m.met.Add(st.Key)
	case st.Kind == store.Change:
		all, err := m.lockHolders(ctx)
		if err == nil && len(all) > 0 {
			h := all[0]
			if h.Commits {
				return errCommits
			}
			m.failures.Note("change a task that another transaction has locked", &task.LockedError{For: h.For}, "task", st.Key.Name, "namespace", st.Key.Namespace, "pid", h.PID, "user", h.User, "application", h.Application, "for", h.For.String())
			return &task.LockedError{For: h.For}
		}
	}
	return &task.LockedError{}
}

// skipLocked refuses claims of tasks that were locked lately and still are. There can be
// many, and a look at the lock costs much less than a write, for which the claims of other
// tasks would wait.
func (m *medium) skipLocked(ctx context.Context, steps []*step) error {
	var keys []string
	met := map[string]*step{}
	for _, st := range steps {
		switch {
		case st.Kind != store.Claim:
		case m.met.Rests(st.Key):
			st.Answer(task.Result{}, task.ErrLaneChanged)
		case m.met.Has(st.Key):
			key := sqltask.Key(st.Key)
			keys = append(keys, key)
			met[key] = st
		}
	}
	if len(keys) == 0 {
		return nil
	}
	free, err := transact(ctx, m.Store, pgx.RowTo[string], change{how: unsynced, sql: "SELECT key FROM foliot.task WHERE key = ANY($1) FOR UPDATE SKIP LOCKED", args: []any{keys}})
	for _, key := range free {
		delete(met, key)
	}
	for _, st := range met {
		m.met.Add(st.Key)
		st.Answer(task.Result{}, task.ErrLaneChanged)
	}
	return err
}

// errCommits is the error of a change while the one before it waits for a standby.
var errCommits = fmt.Errorf("%w: the COMMIT of an earlier change of the task waits for a standby of synchronous_standby_names: repeat the request when one is back", task.ErrUnavailable)

// holder is a transaction of the database that holds up others.
type holder struct {
	PID               int    // 0: it is prepared
	User, Application string // as in pg_stat_activity
	For               time.Duration
	Commits           bool // its COMMIT waits for a standby
}

// lockHolders returns the transactions that have changed or locked tasks, and wait for no
// lock themselves, the oldest first.
func (s *Store) lockHolders(ctx context.Context) ([]holder, error) {
	rows, err := s.pool.Query(ctx, `
WITH l AS (
	SELECT pid, virtualtransaction, transactionid FROM pg_locks WHERE relation = to_regclass('foliot.task') AND mode <> 'AccessShareLock' OR locktype = 'transactionid' AND pid IS NULL
), h(pid, role, application, began, commits) AS (
	SELECT pid, coalesce(usename, ''), application_name, xact_start, wait_event IS NOT DISTINCT FROM 'SyncRep' FROM pg_stat_activity
	WHERE xact_start IS NOT NULL AND pid <> pg_backend_pid() AND datname = current_database() AND pg_blocking_pids(pid) = '{}' AND pid IN (SELECT pid FROM l)
	UNION ALL SELECT 0, owner, 'the prepared transaction ' || gid, prepared, false FROM pg_prepared_xacts p
	WHERE database = current_database() AND EXISTS (SELECT FROM l x JOIN l USING (virtualtransaction) WHERE x.transactionid = p.transaction AND l.transactionid IS NULL AND l.pid IS NULL)
) SELECT pid, role, application, (extract(epoch FROM clock_timestamp() - began) * 1e9)::bigint, commits FROM h ORDER BY began`, s.schema)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[holder])
}
