package pgstore

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/codec"
	"github.com/foliot/foliot/internal/store/kernel"
	"github.com/foliot/foliot/internal/task"
)

// ending is the way in which the write of a step ended, as the statement returns it.
type ending int16

// The endings.
const (
	written ending = iota
	changed
	early
	notOwner
	skipped  // another transaction has locked the record
	outdated // its namespace was removed, or the settings by which dispatch chose it have changed
)

// writes are the rows of one statement, column by column: those of steps, and of the
// tasks that fires create.
type writes struct {
	ord, parent         []int32 // parent: the row of the fire, or -1
	key                 []string
	shard               []int16
	old, stamp          []*int64 // old: the stamp of the record that it replaces; nil: none
	lane, look, keep    []*int64
	running             []bool
	record, body, ended [][]byte
	bodies, lease       []int16 // what happens to the body and to the lease: keep, put, drop
	owner, token        []*string
	idem                [][]byte
	earliest, until     []int64
	news                []string
	home                []*string // of a new record: the field of its namespace's setting
}

// What happens to a column.
const (
	keep int16 = iota
	put
	drop
)

// news is the news of one record.
type news struct {
	Deltas []delta     `json:"d,omitempty"`
	Entry  *task.Entry `json:"e,omitempty"`
}

type delta struct {
	Namespace, Queue string
	task.Counts
}

func ref[T any](v T) *T { return &v }

// add adds the row of a step, and that of the task that it creates.
func (w *writes) add(m *medium, st *step) {
	owner := (*string)(nil)
	if st.Kind.Begins() {
		owner = m.owner(m.shardOf(st.Key))
	}
	n := w.row(m, st.Key, &st.Old, st.Decision.Task, -1)
	st.Extra.after = record{stamp: *w.stamp[n], inline: w.inlineOf(&st.Old, st.Decision.Task)}
	w.owner[n], w.earliest[n] = owner, int64(kernel.Earliest(st.Kind, st.Old.task, m.now))
	if t := st.Decision.Spawned; t != nil {
		w.row(m, t.Key(), &record{}, t, n)
	}
}

// row adds the row that replaces old by t, nil for no record.
func (w *writes) row(m *medium, key task.Key, old *record, t *task.Task, parent int) int {
	n := len(w.key)
	w.ord, w.parent, w.key, w.shard = append(w.ord, int32(n)), append(w.parent, int32(parent)), append(w.key, keyOf(key)), append(w.shard, m.shardOf(key))
	w.stamp, w.owner, w.earliest = append(w.stamp, ref(newStamp())), append(w.owner, nil), append(w.earliest, 0)
	var stamp, lane, look, until, keepUntil *int64
	var data, body, ended, idem []byte
	var token *string
	bodies, lease := drop, keep
	if old.task != nil {
		stamp = &old.stamp
	}
	if t != nil {
		inline := w.inlineOf(old, t)
		data = codec.AppendBody(codec.AppendRecord(nil, t), inline)
		switch {
		case t.Request.BodySize == 0 || inline != nil:
		case t.Request.Body != nil:
			bodies, body = put, t.Request.Body
		default:
			bodies = keep
		}
		if t.State.Live() {
			lane, look = ref(laneOf(t.Lane())), ref(int64(t.Due))
		} else {
			ended, keepUntil = endedOf(t.Namespace, t.State == task.Dead, t.EndedPlace()), ref(int64(t.KeepUntil))
		}
		if t.Idempotency != nil {
			idem = idemOf(t.Namespace, t.Idempotency.Key)
		}
	}
	switch before, after := leaseOf(old.task), leaseOf(t); {
	case after != nil && (before == nil || before.Token != after.Token):
		lease, token, until = put, ref(string(after.Token)), ref(int64(after.Until))
	case before != nil && after == nil:
		lease = drop
	}
	if until == nil {
		until = new(int64)
	}
	w.old, w.lane, w.look, w.keep = append(w.old, stamp), append(w.lane, lane), append(w.look, look), append(w.keep, keepUntil)
	w.running = append(w.running, t != nil && t.State == task.Running)
	w.record, w.body, w.ended = append(w.record, data), append(w.body, body), append(w.ended, ended)
	w.bodies, w.lease = append(w.bodies, bodies), append(w.lease, lease)
	w.idem, w.token, w.until = append(w.idem, idem), append(w.token, token), append(w.until, *until)
	w.news = append(w.news, newsOf(old.task, t))
	var home *string
	if old.task == nil && key.Namespace != task.DefaultNamespace {
		home = ref(settings.SettingKey{Kind: settings.NamespaceKind, Name: key.Namespace}.Field())
	}
	w.home = append(w.home, home)
	return n
}

// inlineOf returns the body that the record of t has, if it replaces old. If t has a
// body and does not carry it, the body stays where it is.
func (w *writes) inlineOf(old *record, t *task.Task) []byte {
	switch {
	case t == nil || t.Request.BodySize == 0:
		return nil
	case t.Request.Body == nil:
		return old.inline
	case len(t.Request.Body) <= inlineBody:
		return t.Request.Body
	}
	return nil
}

func leaseOf(t *task.Task) *task.Lease {
	if t == nil {
		return nil
	}
	return t.Lease
}

// newsOf returns the news of a change.
func newsOf(old, t *task.Task) string {
	var n news
	kernel.EachDelta(old, t, func(q task.QueueKey, c task.Counts) {
		if c != (task.Counts{}) && !q.OfOccurrences() {
			n.Deltas = append(n.Deltas, delta{q.Namespace, q.Queue, c})
		}
	})
	if e, ok := task.Hint(old, t); ok {
		n.Entry = &e
	}
	if n.Deltas == nil && n.Entry == nil {
		return ""
	}
	text, _ := json.Marshal(n) // it can always be encoded
	return string(text)
}

// writeRows writes rows if their records still have the stamps by which they were
// decided. Its CTEs see one snapshot, so the news are those of the rows that were
// written.
const (
	inputRows = `
WITH u AS MATERIALIZED (
	SELECT * FROM unnest($1::int[], $2::int[], $3::text[], $4::smallint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[], $10::bool[],
		$11::bytea[], $12::bytea[], $13::bytea[], $14::smallint[], $15::smallint[], $16::bytea[], $17::text[], $18::text[], $19::bigint[], $20::bigint[], $21::text[], $22::text[])
	AS u(ord, parent, key, shard, old, stamp, lane, look, keep, running, record, body, ended, bodies, lease, idem, owner, token, earliest, until, news, home)
), clock AS MATERIALIZED (SELECT coalesce($23::bigint, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint) AS ms
), locked AS MATERIALIZED (
	SELECT t.key FROM task t JOIN u USING (key) WHERE u.old IS NOT NULL ORDER BY t.key FOR UPDATE OF t`
	writeRows = `
), fit AS MATERIALIZED (
	SELECT u.* FROM u, clock WHERE u.earliest <= clock.ms AND (u.owner IS NULL OR EXISTS (SELECT FROM shard s WHERE s.n = u.shard AND s.owner = u.owner))
		AND (u.home IS NULL OR EXISTS (SELECT FROM setting WHERE field = u.home))
		AND ($25::text IS NULL OR EXISTS (SELECT FROM version WHERE settings = $25))
), updated AS (
	UPDATE task t SET shard = f.shard, lane = f.lane, look = f.look, running = f.running, stamp = f.stamp, record = f.record,
		body = CASE f.bodies WHEN 0 THEN t.body WHEN 1 THEN f.body END, idem = f.idem, ended = f.ended, keep = f.keep
	FROM fit f JOIN locked USING (key) WHERE t.key = f.key AND t.stamp = f.old AND f.record IS NOT NULL RETURNING f.ord
), removed AS (
	DELETE FROM task t USING fit f JOIN locked USING (key) WHERE t.key = f.key AND t.stamp = f.old AND f.record IS NULL RETURNING f.ord
), created AS (
	INSERT INTO task (key, shard, lane, look, running, stamp, record, body, idem, ended, keep)
	SELECT key, shard, lane, look, running, stamp, record, body, idem, ended, keep FROM fit WHERE old IS NULL AND parent < 0 ORDER BY key
	ON CONFLICT DO NOTHING RETURNING key
), spawned AS (
	INSERT INTO task (key, shard, lane, look, running, stamp, record, body, idem, ended, keep)
	SELECT f.key, f.shard, f.lane, f.look, f.running, f.stamp, f.record, f.body, f.idem, f.ended, f.keep FROM u f JOIN updated ON updated.ord = f.parent ORDER BY f.key
	ON CONFLICT DO NOTHING RETURNING key
), done AS (
	SELECT ord FROM updated UNION ALL SELECT ord FROM removed
	UNION ALL SELECT u.ord FROM u JOIN created USING (key) WHERE u.parent < 0
	UNION ALL SELECT u.ord FROM u JOIN spawned USING (key) WHERE u.parent >= 0
), leased AS (
	INSERT INTO lease (key, shard, token, until) SELECT key, shard, token, until FROM u JOIN done USING (ord) WHERE lease = 1
	ON CONFLICT (key) DO UPDATE SET token = excluded.token, until = excluded.until
), released AS (
	DELETE FROM lease l USING u JOIN done USING (ord) WHERE l.key = u.key AND u.lease = 2
), told AS (
	INSERT INTO news (shard, node, news) SELECT shard, $24, jsonb_agg(news::jsonb) FROM u JOIN done USING (ord) WHERE news <> '' GROUP BY shard
)
SELECT CASE WHEN done.ord IS NOT NULL THEN 0
	WHEN u.earliest > clock.ms THEN 2
	WHEN u.owner IS NOT NULL AND NOT EXISTS (SELECT FROM shard s WHERE s.n = u.shard AND s.owner = u.owner) THEN 3
	WHEN u.old IS NOT NULL AND EXISTS (SELECT FROM task t WHERE t.key = u.key AND t.stamp = u.old) AND NOT EXISTS (SELECT FROM locked l WHERE l.key = u.key) THEN 4
	WHEN u.home IS NOT NULL AND NOT EXISTS (SELECT FROM setting WHERE field = u.home) OR $25 <> (SELECT settings FROM version) THEN 5
	ELSE 1 END::smallint
FROM clock, u LEFT JOIN done USING (ord) WHERE u.parent < 0 ORDER BY u.ord`

	// extendRows sets the ends of leases. It reads the records without a lock: an
	// extension fails if a client has changed the task, so that the holder sees it.
	extendRows = `
WITH u AS (SELECT * FROM unnest($1::int[], $2::text[], $3::bigint[], $4::text[], $5::bigint[]) AS u(ord, key, old, token, until)
), done AS (
	UPDATE lease l SET until = u.until FROM u JOIN task t ON t.key = u.key AND t.stamp = u.old
	WHERE l.key = u.key AND l.token = u.token RETURNING u.ord
)
SELECT CASE WHEN done.ord IS NULL THEN 1 ELSE 0 END::smallint FROM u LEFT JOIN done USING (ord) ORDER BY u.ord`
)

// write writes rows, and returns the endings of those of steps.
func (m *medium) write(ctx context.Context, w *writes, kind store.Kind, c commit) ([]ending, error) {
	var clock *int64
	if m.config.CallersClock {
		clock = ref(int64(m.now))
	}
	node := m.node
	if m.foreign { // this process reads the news too
		node = ""
	}
	sql := inputRows
	if kind != store.Change {
		sql += " SKIP LOCKED"
	}
	var version *string
	if kind == store.Claim || kind == store.Fire {
		version = &m.settings.Load().version
	}
	return transact(ctx, m.Store, pgx.RowTo[ending], change{c, w.homes(), sql + writeRows, []any{
		w.ord, w.parent, w.key, w.shard, w.old, w.stamp, w.lane, w.look, w.keep, w.running, w.record, w.body, w.ended, w.bodies, w.lease,
		w.idem, w.owner, w.token, w.earliest, w.until, w.news, w.home, clock, node, version,
	}})
}

// homes returns the locks of the namespaces in which tasks are created: see
// lockNamespace.
func (w *writes) homes() (locks []int64) {
	for _, h := range w.home {
		if h != nil {
			locks = append(locks, lockNamespace(*h))
		}
	}
	slices.Sort(locks)
	return slices.Compact(locks)
}

// lockNamespace returns the number of the lock that the removal of a namespace holds,
// and that creates in it share. A create looks after that whether its namespace exists.
func lockNamespace(field string) int64 { return int64(hash(field)) }

// extend sets the ends of leases.
func (m *medium) extend(ctx context.Context, steps []*step) error {
	if len(steps) == 0 {
		return nil
	}
	ord, keys, old, token, until := make([]int32, len(steps)), make([]string, len(steps)), make([]int64, len(steps)), make([]string, len(steps)), make([]int64, len(steps))
	for i, st := range steps {
		l := st.Decision.Task.Lease
		ord[i], keys[i], old[i], token[i], until[i] = int32(i), keyOf(st.Key), st.Old.stamp, string(l.Token), int64(l.Until)
		st.Extra.after = record{stamp: st.Old.stamp, inline: st.Old.inline}
	}
	endings, err := transact(ctx, m.Store, pgx.RowTo[ending], change{how: unsynced, sql: extendRows, args: []any{ord, keys, old, token, until}})
	if err == nil {
		m.end(steps, endings)
	}
	return err
}
