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

// row is a row of the statement that writes: the record of a step, or of a task that a
// fire creates.
type row struct {
	parent           int32 // of a task that a fire creates: the row of the fire; otherwise -1
	key              string
	shard            int16
	old              *int64 // the stamp of the record that it replaces; nil: none
	stamp            int64
	lane, look, keep *int64
	running          bool
	relative         bool
	record, body     []byte // record: nil removes the record
	ended, idem      []byte
	bodies, lease    int16 // the changes of the body and of the lease
	owner, token     *string
	earliest, until  int64
	news             string
	home             *string // of a new record: the field of its namespace's setting
}

// The changes of the body and of the lease.
const (
	keep int16 = iota
	put
	drop
)

// news is the news of one record.
type news struct {
	Deltas []delta     `json:"d,omitempty"`
	Entry  *task.Entry `json:"e,omitempty"`
	Key    string      `json:"p,omitempty"` // of a task with pending operations
}

type delta struct {
	Namespace, Queue string
	task.Counts
}

func ref[T any](v T) *T { return &v }

// rowsOf returns the rows of steps, each followed by that of the task that it creates.
func (m *medium) rowsOf(steps []*step) (rows []row) {
	for _, st := range steps {
		r := m.rowOf(st.Key, &st.Old, st.Decision.Task)
		r.earliest = int64(kernel.Earliest(st.Kind, st.Old.task, m.At))
		if st.Kind.Begins() {
			r.owner = m.owner(r.shard)
		}
		st.Extra.after = record{stamp: r.stamp, inline: inlineOf(&st.Old, st.Decision.Task)}
		rows = append(rows, r)
		if t := st.Decision.Spawned; t != nil {
			spawned := m.rowOf(t.Key(), &record{}, t)
			spawned.parent = int32(len(rows) - 1)
			rows = append(rows, spawned)
		}
	}
	return rows
}

// rowOf returns the row that replaces old by t, nil for no record.
func (m *medium) rowOf(key task.Key, old *record, t *task.Task) row {
	r := row{parent: -1, key: keyOf(key), shard: m.shardOf(key), stamp: newStamp(), bodies: drop, news: newsOf(old.written(), t)}
	if old.task != nil {
		r.old = &old.stamp
	} else if key.Namespace != task.DefaultNamespace {
		r.home = ref(settings.SettingKey{Kind: settings.NamespaceKind, Name: key.Namespace}.Field())
	}
	switch before, after := leaseOf(old.written()), leaseOf(t); {
	case after != nil && (before == nil || before.Token != after.Token || before.Until != after.Until):
		r.lease, r.token, r.until = put, ref(string(after.Token)), int64(after.Until)
	case before != nil && after == nil:
		r.lease = drop
	}
	if t == nil {
		return r
	}
	inline := inlineOf(old, t)
	r.record, r.running = codec.AppendBody(codec.AppendRecord(nil, t), inline), t.State == task.Running
	r.relative = t.Relative
	switch {
	case t.Request.BodySize == 0 || inline != nil:
	case t.Request.Body != nil:
		r.bodies, r.body = put, t.Request.Body
	default:
		r.bodies = keep
	}
	if t.State.Live() {
		r.lane, r.look = ref(laneOf(t.Lane())), ref(int64(t.Due))
	} else {
		r.ended, r.keep = endedOf(t.Namespace, t.State == task.Dead, t.EndedPlace()), ref(int64(t.KeepUntil))
	}
	if t.Idempotency != nil {
		r.idem = idemOf(t.Namespace, t.Idempotency.Key)
	}
	return r
}

// inlineOf returns the body that the record of t has, if it replaces old. If t has a
// body and does not carry it, the body stays where it is.
func inlineOf(old *record, t *task.Task) []byte {
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
// written. Two rows can have the same key, if they belong to different calls: at most
// one of them is written.
const (
	inputRows = `
WITH u AS MATERIALIZED (
	SELECT * FROM unnest($1::int[], $2::int[], $3::text[], $4::smallint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[], $10::bool[],
		$11::bytea[], $12::bytea[], $13::bytea[], $14::smallint[], $15::smallint[], $16::bytea[], $17::text[], $18::text[], $19::bigint[], $20::bigint[], $21::text[], $22::text[], $26::bool[])
	AS u(ord, parent, key, shard, old, stamp, lane, look, keep, running, record, body, ended, bodies, lease, idem, owner, token, earliest, until, news, home, relative)
), clock AS MATERIALIZED (SELECT coalesce($23::bigint, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint) AS ms
), locked AS MATERIALIZED (
	SELECT t.key FROM task t JOIN u USING (key) WHERE u.old IS NOT NULL ORDER BY t.key FOR UPDATE OF t`
	writeRows = `
), fit AS MATERIALIZED (
	SELECT u.* FROM u, clock WHERE u.earliest <= clock.ms AND (u.owner IS NULL OR EXISTS (SELECT FROM shard s WHERE s.n = u.shard AND s.owner = u.owner))
		AND (u.home IS NULL OR EXISTS (SELECT FROM setting WHERE field = u.home))
		AND ($25::text IS NULL OR EXISTS (SELECT FROM version WHERE settings = $25))
), updated AS (
	UPDATE task t SET shard = f.shard, lane = f.lane, look = f.look, running = f.running, relative = f.relative, pending = NULL, stamp = f.stamp, record = f.record,
		body = CASE f.bodies WHEN 0 THEN t.body WHEN 1 THEN f.body END, idem = f.idem, ended = f.ended, keep = f.keep
	FROM fit f JOIN locked USING (key) WHERE t.key = f.key AND t.stamp = f.old AND f.record IS NOT NULL RETURNING f.ord
), removed AS (
	DELETE FROM task t USING fit f JOIN locked USING (key) WHERE t.key = f.key AND t.stamp = f.old AND f.record IS NULL RETURNING f.ord
), created AS (
	INSERT INTO task (key, shard, lane, look, running, relative, stamp, record, body, idem, ended, keep)
	SELECT key, shard, lane, look, running, relative, stamp, record, body, idem, ended, keep FROM fit WHERE old IS NULL AND parent < 0 ORDER BY key
	ON CONFLICT DO NOTHING RETURNING key, stamp
), spawned AS (
	INSERT INTO task (key, shard, lane, look, running, relative, stamp, record, body, idem, ended, keep)
	SELECT f.key, f.shard, f.lane, f.look, f.running, f.relative, f.stamp, f.record, f.body, f.idem, f.ended, f.keep FROM u f JOIN updated ON updated.ord = f.parent ORDER BY f.key
	ON CONFLICT DO NOTHING RETURNING key, stamp
), done AS (
	SELECT ord FROM updated UNION ALL SELECT ord FROM removed
	UNION ALL SELECT u.ord FROM u JOIN created USING (key, stamp) WHERE u.parent < 0
	UNION ALL SELECT u.ord FROM u JOIN spawned USING (key, stamp) WHERE u.parent >= 0
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
	// extension fails if a client has changed the task, so that the holder sees it. It
	// skips a lease that a transaction of the user ends.
	extendRows = `
WITH u AS (SELECT * FROM unnest($1::int[], $2::text[], $3::bigint[], $4::text[], $5::bigint[]) AS u(ord, key, old, token, until)
), found AS MATERIALIZED (
	SELECT u.* FROM u JOIN task t ON t.key = u.key AND t.stamp = u.old JOIN lease l ON l.key = u.key AND l.token = u.token
), locked AS MATERIALIZED (
	SELECT l.key FROM lease l JOIN found USING (key) ORDER BY l.key FOR UPDATE OF l SKIP LOCKED
), done AS (
	UPDATE lease l SET until = f.until FROM found f JOIN locked USING (key) WHERE l.key = f.key AND l.token = f.token RETURNING f.ord
)
SELECT CASE WHEN done.ord IS NOT NULL THEN 0 WHEN found.ord IS NOT NULL AND NOT EXISTS (SELECT FROM locked l WHERE l.key = u.key) THEN 4 ELSE 1 END::smallint
FROM u LEFT JOIN done USING (ord) LEFT JOIN found USING (ord) ORDER BY u.ord`
)

// class has the properties that the steps of one statement share.
type class struct {
	skips   bool        // locked records are skipped
	how     commit      // the strictest of them
	version string      // of the settings that must be in force; empty means any
	clock   task.Millis // the time in place of the server's, if it is not zero
	foreign bool
}

func (m *medium) classOf(steps []*step) class {
	c := class{skips: !m.foreign || steps[0].Kind != store.Change, how: unsynced, foreign: m.foreign}
	for _, st := range steps {
		if st.Decision.Synced {
			c.how = synced
		}
		if st.Kind == store.Claim || st.Kind == store.Fire {
			c.version = m.settings.Load().version
		}
	}
	if m.config.CallersClock {
		c.clock = m.At
	}
	return c
}

// writeNow writes rows by one statement, and returns the endings of those of steps.
func (s *Store) writeNow(ctx context.Context, rows []row, c class) ([]ending, error) {
	ord, locks := make([]int32, len(rows)), []int64(nil)
	for i, r := range rows {
		if ord[i] = int32(i); r.home != nil {
			locks = append(locks, lockNamespace(*r.home))
		}
	}
	slices.Sort(locks)
	sql, node, version, clock := inputRows+writeRows, s.node, &c.version, ref(int64(c.clock))
	if c.skips {
		sql = inputRows + " SKIP LOCKED" + writeRows
	}
	if c.foreign { // this process reads the news too
		node = ""
	}
	if c.version == "" {
		version = nil
	}
	if c.clock == 0 {
		clock = nil
	}
	return transact(ctx, s, pgx.RowTo[ending], change{c.how, slices.Compact(locks), sql, []any{
		ord,
		column(rows, func(r *row) int32 { return r.parent }), column(rows, func(r *row) string { return r.key }),
		column(rows, func(r *row) int16 { return r.shard }), column(rows, func(r *row) *int64 { return r.old }),
		column(rows, func(r *row) int64 { return r.stamp }), column(rows, func(r *row) *int64 { return r.lane }),
		column(rows, func(r *row) *int64 { return r.look }), column(rows, func(r *row) *int64 { return r.keep }),
		column(rows, func(r *row) bool { return r.running }), column(rows, func(r *row) []byte { return r.record }),
		column(rows, func(r *row) []byte { return r.body }), column(rows, func(r *row) []byte { return r.ended }),
		column(rows, func(r *row) int16 { return r.bodies }), column(rows, func(r *row) int16 { return r.lease }),
		column(rows, func(r *row) []byte { return r.idem }), column(rows, func(r *row) *string { return r.owner }),
		column(rows, func(r *row) *string { return r.token }), column(rows, func(r *row) int64 { return r.earliest }),
		column(rows, func(r *row) int64 { return r.until }), column(rows, func(r *row) string { return r.news }),
		column(rows, func(r *row) *string { return r.home }),
		clock, node, version, column(rows, func(r *row) bool { return r.relative }),
	}})
}

func column[T any](rows []row, of func(*row) T) []T {
	values := make([]T, len(rows))
	for i := range rows {
		values[i] = of(&rows[i])
	}
	return values
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
		m.end(ctx, steps, endings)
	}
	return err
}
