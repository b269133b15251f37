package pgstore

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/kernel"
	"github.com/foliot/foliot/internal/store/sqltask"
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

func ref[T any](v T) *T { return &v }

// rowsOf returns the rows of steps, each followed by that of the task that it creates.
func (m *medium) rowsOf(steps []*step) (rows []sqltask.Row) {
	for _, st := range steps {
		r := sqltask.Of(st.Key, &st.Old, st.Decision.Task, m.shards)
		r.Earliest = int64(kernel.Earliest(st.Kind, st.Old.Task, m.At))
		if st.Kind.Begins() {
			r.Owner = m.owner(r.Shard)
		}
		st.Extra.after = sqltask.Record{Stamp: r.Stamp, Inline: sqltask.InlineOf(&st.Old, st.Decision.Task)}
		rows = append(rows, r)
		if t := st.Decision.Spawned; t != nil {
			spawned := sqltask.Of(t.Key(), &sqltask.Record{}, t, m.shards)
			spawned.Parent = int32(len(rows))
			rows = append(rows, spawned)
		}
	}
	return rows
}

// writeRows writes rows if their records still have the stamps by which they were
// decided. Its CTEs see one snapshot, so the news are those of the rows that were
// written. Two rows can have the same key, if they belong to different calls: at most
// one of them is written.
var inputRows = `
WITH u AS MATERIALIZED (
	SELECT * FROM ` + inputOf[sqltask.Row]() + `
), clock AS MATERIALIZED (SELECT coalesce($23::bigint, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint) AS ms
), locked AS MATERIALIZED (
	SELECT t.key FROM foliot.task t JOIN u USING (key) WHERE u.old IS NOT NULL ORDER BY t.key FOR UPDATE OF t`

const writeRows = `
), fit AS MATERIALIZED (
	SELECT u.* FROM u, clock WHERE u.earliest <= clock.ms AND (u.owner IS NULL OR EXISTS (SELECT FROM foliot.shard s WHERE s.n = u.shard AND s.owner = u.owner))
		AND (u.home IS NULL OR EXISTS (SELECT FROM foliot.setting WHERE field = u.home))
		AND ($25::text IS NULL OR EXISTS (SELECT FROM foliot.version WHERE settings = $25))
), updated AS (
	UPDATE foliot.task t SET shard = f.shard, lane = f.lane, look = f.look, running = f.running, relative = f.relative, pending = NULL, stamp = f.Stamp, record = f.Record,
		body = CASE f.bodies WHEN 0 THEN t.body WHEN 1 THEN f.Body END, idem = f.idem, ended = f.ended, keep = f.keep
	FROM fit f JOIN locked USING (key) WHERE t.key = f.key AND t.stamp = f.old AND f.Record IS NOT NULL RETURNING f.ord
), removed AS (
	DELETE FROM foliot.task t USING fit f JOIN locked USING (key) WHERE t.key = f.key AND t.stamp = f.old AND f.Record IS NULL RETURNING f.ord
), created AS (
	INSERT INTO foliot.task (key, shard, lane, look, running, relative, stamp, record, body, idem, ended, keep)
	SELECT key, shard, lane, look, running, relative, stamp, record, body, idem, ended, keep FROM fit WHERE old IS NULL AND parent = 0 ORDER BY key
	ON CONFLICT DO NOTHING RETURNING key, stamp
), spawned AS (
	INSERT INTO foliot.task (key, shard, lane, look, running, relative, stamp, record, body, idem, ended, keep)
	SELECT f.key, f.shard, f.lane, f.look, f.running, f.relative, f.Stamp, f.Record, f.Body, f.idem, f.ended, f.keep FROM u f JOIN updated ON updated.ord = f.parent ORDER BY f.key
	ON CONFLICT DO NOTHING RETURNING key, stamp
), done AS (
	SELECT ord FROM updated UNION ALL SELECT ord FROM removed
	UNION ALL SELECT u.ord FROM u JOIN created USING (key, stamp) WHERE u.parent = 0
	UNION ALL SELECT u.ord FROM u JOIN spawned USING (key, stamp) WHERE u.parent > 0
), leased AS (
	INSERT INTO foliot.lease (key, shard, token, until) SELECT key, shard, token, until FROM u JOIN done USING (ord) WHERE lease = 1
	ON CONFLICT (key) DO UPDATE SET token = excluded.token, until = excluded.until
), released AS (
	DELETE FROM foliot.lease l USING u JOIN done USING (ord) WHERE l.key = u.key AND u.lease = 2
), told AS (
	INSERT INTO foliot.news (shard, node, news) SELECT shard, $24, jsonb_agg(news::jsonb) FROM u JOIN done USING (ord) WHERE news <> '' GROUP BY shard
)
SELECT CASE WHEN done.ord IS NOT NULL THEN 0
	WHEN u.earliest > clock.ms THEN 2
	WHEN u.owner IS NOT NULL AND NOT EXISTS (SELECT FROM foliot.shard s WHERE s.n = u.shard AND s.owner = u.owner) THEN 3
	WHEN u.old IS NOT NULL AND EXISTS (SELECT FROM foliot.task t WHERE t.key = u.key AND t.stamp = u.old) AND NOT EXISTS (SELECT FROM locked l WHERE l.key = u.key) THEN 4
	WHEN u.home IS NOT NULL AND NOT EXISTS (SELECT FROM foliot.setting WHERE field = u.home) OR $25 <> (SELECT settings FROM foliot.version) THEN 5
	ELSE 1 END::smallint
FROM clock, u LEFT JOIN done USING (ord) WHERE u.parent = 0 ORDER BY u.ord`

// extendRows sets the ends of leases. It reads the records without a lock: an
// extension fails if a client has changed the task, so that the holder sees it. It
// skips a lease that a transaction of the user ends.
var extendRows = `
WITH u AS (SELECT * FROM ` + inputOf[extension]() + `
), found AS MATERIALIZED (
	SELECT u.* FROM u JOIN foliot.task t ON t.key = u.key AND t.stamp = u.old JOIN foliot.lease l ON l.key = u.key AND l.token = u.token
), locked AS MATERIALIZED (
	SELECT l.key FROM foliot.lease l JOIN found USING (key) ORDER BY l.key FOR UPDATE OF l SKIP LOCKED
), done AS (
	UPDATE foliot.lease l SET until = f.until FROM found f JOIN locked USING (key) WHERE l.key = f.key AND l.token = f.token RETURNING f.ord
)
SELECT CASE WHEN done.ord IS NOT NULL THEN 0 WHEN found.ord IS NOT NULL AND NOT EXISTS (SELECT FROM locked l WHERE l.key = u.key) THEN 4 ELSE 1 END::smallint
FROM u LEFT JOIN done USING (ord) LEFT JOIN found USING (ord) ORDER BY u.ord`

type extension struct {
	Key   string
	Old   int64
	Token string
	Until int64
}

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
func (s *Store) writeNow(ctx context.Context, rows []sqltask.Row, c class) ([]ending, error) {
	var locks []int64
	for _, r := range rows {
		if r.Home != nil {
			locks = append(locks, lockNamespace(*r.Home))
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
	return transact(ctx, s, pgx.RowTo[ending], change{c.how, slices.Compact(locks), sql, columns(rows, clock, node, version)})
}

// lockNamespace returns the number of the lock that the removal of a namespace holds,
// and that creates in it share. A create looks after that whether its namespace exists.
func lockNamespace(field string) int64 { return int64(sqltask.Hash(field)) }

// extend sets the ends of leases.
func (m *medium) extend(ctx context.Context, steps []*step) error {
	if len(steps) == 0 {
		return nil
	}
	rows := make([]extension, len(steps))
	for i, st := range steps {
		l := st.Decision.Task.Lease
		rows[i] = extension{sqltask.Key(st.Key), st.Old.Stamp, string(l.Token), int64(l.Until)}
		st.Extra.after = sqltask.Record{Stamp: st.Old.Stamp, Inline: st.Old.Inline}
	}
	endings, err := transact(ctx, m.Store, pgx.RowTo[ending], change{how: unsynced, sql: extendRows, args: columns(rows)})
	if err == nil {
		m.end(ctx, steps, endings)
	}
	return err
}
