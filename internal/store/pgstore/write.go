package pgstore

import (
	"context"
	"crypto/rand"
	_ "embed"
	"regexp"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

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

// rowsOf returns the rows of steps, each followed by that of the task that it creates.
func (m *medium) rowsOf(steps []*step) (rows []sqltask.Row) {
	for _, st := range steps {
		r := sqltask.Of(st.Key, &st.Old, st.Decision.Task, m.shards)
		r.Earliest = int64(kernel.Earliest(st.Kind, st.Old.Task, m.At))
		if owner := m.member.Owner(int(r.Shard)); owner != "" && st.Kind.Begins() { // "": no other process shares the store
			r.Owner = &owner
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

// writeRows writes rows, and changeRows those that change records and create and remove none,
// which is cheaper: see write.sql. Those of the second elements skip locked records.
var (
	//go:embed write.sql
	writing    string
	writeRows  = writeTexts(writing)
	changeRows = writeTexts(regexp.MustCompile(`(?s)--\{.*?--\}\n`).ReplaceAllString(writing, ""))
)

func writeTexts(sql string) (texts [2]string) {
	for i, skip := range []string{"", "SKIP LOCKED"} {
		texts[i] = strings.NewReplacer("{rows}", inputOf[sqltask.Row](), "{skip}", skip).Replace(sql)
	}
	return texts
}

// extendRows sets the ends of leases. It reads the records without a lock: an
// extension fails if a client has changed the task, so that the holder sees it. It
// skips a lease that a transaction of the user ends. ANY has the reason of write.sql.
var extendRows = `
WITH u AS (SELECT * FROM ` + inputOf[extension]() + `
), found AS MATERIALIZED (
	SELECT u.* FROM u, foliot.task t, foliot.lease l WHERE t.key = ANY(ARRAY[u.key]) AND t.stamp = u.old AND l.key = ANY(ARRAY[u.key]) AND l.token = u.token
), locked AS MATERIALIZED (
	SELECT l.key FROM found f, foliot.lease l WHERE l.key = ANY(ARRAY[f.key]) ORDER BY f.key COLLATE "C" FOR UPDATE OF l SKIP LOCKED
), done AS (
	UPDATE foliot.lease l SET until = f.until FROM found f WHERE (f.key IN (SELECT key FROM locked)) IS TRUE AND l.key = ANY(ARRAY[f.key]) AND l.token = f.token RETURNING f.ord
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
	alone   bool // a locked name is probable, so it is tried for a shorter time
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

// write writes rows by one statement, and returns the endings of those of steps.
func (s *Store) write(ctx context.Context, rows []sqltask.Row, c class) ([]ending, error) {
	var locks []int64
	for _, r := range rows {
		if r.Home != nil {
			locks = append(locks, lockNamespace(*r.Home))
		}
	}
	slices.Sort(locks)
	texts, name := changeRows, s.node.Load()
	if slices.ContainsFunc(rows, func(r sqltask.Row) bool { return r.Old == nil || r.Record == nil || r.Parent > 0 }) {
		texts = writeRows
	}
	sql, node := texts[0], *name
	if c.skips {
		sql = texts[1]
	}
	if c.foreign { // this process reads the news too
		node = ""
	}
	ch := change{c.how, c.alone, slices.Compact(locks), sql, columns(rows, int64(c.clock), node, c.version)}
	if c.foreign { // the owners read the news after the commit
		return transact(ctx, s, pgx.RowTo[ending], ch)
	}
	return apart(ctx, s, s.poolOf(c.how), func(ctx context.Context, conn *pgxpool.Conn) ([]ending, error) {
		endings, err := transactOn(ctx, s, conn, pgx.RowTo[ending], ch)
		if unclear(err) {
			s.node.CompareAndSwap(name, new(rand.Text())) // the polls read its news if it commits later
		}
		s.added(entriesOf(rows, endings, err))
		return endings, err
	})
}

// entriesOf returns the entries that rows add to lanes. It is called even if the caller has
// left, or the COMMIT ended with an error and may have been made: this process reads only
// the news of others.
func entriesOf(rows []sqltask.Row, endings []ending, err error) (entries []task.Entry) {
	all := endings == nil && unclear(err)
	of := -1 // the step of a row
	for i := range rows {
		if rows[i].Parent == 0 {
			of++
		}
		if e := rows[i].Entry(); e != nil && (all || of < len(endings) && endings[of] == written) {
			entries = append(entries, *e)
		}
	}
	return entries
}

// lockNamespace returns the number of the lock that the removal of a namespace holds,
// and that creates in it share. A create then checks that its namespace exists.
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
