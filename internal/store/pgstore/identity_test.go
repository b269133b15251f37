package pgstore

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/servertest/pgtest"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/tasktest"
)

// runs returns a function that runs SQL in the store at a URL.
func runs(t *testing.T, url string) func(sql string) {
	t.Helper()
	c, err := pgx.Connect(t.Context(), url)
	fatal.If(t, err)
	t.Cleanup(func() { fatal.If(t, c.Close(context.Background())) })
	return func(sql string) {
		t.Helper()
		_, err := c.Exec(t.Context(), sql)
		fatal.If(t, err)
	}
}

// A restore can put another store behind open connections, and remove the tables for a
// while.
func TestANodeClosesAStoreThatWasReplacedUntilItIsBack(t *testing.T) {
	url := migrated(t)
	s, sql := openNodes(t, url, "a")[0], runs(t, url)
	for replace, restore := range map[string]string{
		"UPDATE meta SET identity = identity || '?'": "UPDATE meta SET identity = trim('?' FROM identity)",
		"ALTER TABLE meta RENAME TO gone":            "ALTER TABLE gone RENAME TO meta",
	} {
		sql(replace)
		redistest.Until(t, "it has noticed", func() bool { return errors.Is(s.Standing().Err, task.ErrStoreReplaced) })
		if _, err := s.Get(t.Context(), tasktest.Key("a")); !errors.Is(err, task.ErrStoreReplaced) || len(s.member.Owned()) > 0 {
			t.Errorf("after %s: a read ended with %v, and %d shards are owned", replace, err, len(s.member.Owned()))
		}
		sql(restore)
		redistest.Until(t, "it goes on", func() bool { return s.Standing().Err == nil && len(s.member.Owned()) == s.shards })
	}
}

// After a failover the address can lead to another database. Not even the first request
// writes there.
func TestANewConnectionToAnotherStoreIsNotUsed(t *testing.T) {
	server := pgtest.New(t)
	first, err := Parse(server.URL())
	fatal.If(t, err)
	one := runs(t, server.URL())
	one("CREATE DATABASE other")
	var moved atomic.Bool
	first.BeforeConnect = func(_ context.Context, c *pgx.ConnConfig) error {
		if moved.Load() {
			c.Database = "other"
		}
		return nil
	}
	other := server.URL() + "&dbname=other"
	fatal.If(t, errors.Join(Migrate(t.Context(), server.URL()), Migrate(t.Context(), other)))
	s, err := Open(t.Context(), Config{Pool: first, Shared: store.Shared{Embedded: true}})
	fatal.If(t, err)
	defer func() { fatal.If(t, s.Close()) }()
	fatal.If(t, s.polling.Acquire(t.Context(), 1)) // a poll would notice it too
	moved.Store(true)
	one("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'foliot'")
	redistest.Until(t, "it has noticed", func() bool {
		now := task.CeilMillis(s.Latest())
		err = create(t.Context(), s, now, "a", now)
		return !errors.Is(err, task.ErrUnavailable) || errors.Is(err, task.ErrStoreReplaced)
	})
	s.polling.Release(1)
	if !errors.Is(err, task.ErrStoreReplaced) {
		t.Errorf("the create ended with %v", err)
	}
	if n, err := pgtest.Psql(t.Context(), other, "SELECT count(*) FROM task"); err != nil || n != "0" {
		t.Errorf("the other store has %s tasks, %v", n, err)
	}
}

// An older copy of the store has the same identity. A node counts that it has lost data,
// and finds the tasks that wait again, although it has passed them.
func TestARestoredOlderCopyIsCountedAsARollback(t *testing.T) {
	url := migrated(t)
	sql := runs(t, url)
	sql("UPDATE meta SET lease = 600")
	s := openNodes(t, url, "a")[0]
	due := task.CeilMillis(s.Latest())
	fatal.If(t, create(t.Context(), s, due, "again", due))
	tables := []string{"node", "task", "lease", "count", "news"}
	copies := ""
	for _, table := range tables {
		copies += "CREATE TABLE old_" + table + " AS TABLE " + table + ";"
	}
	sql(copies)
	waiting := func() (n int) {
		now := task.FloorMillis(s.Now())
		heads, err := store.LaneHeads(t.Context(), s, now)
		fatal.If(t, err)
		for _, h := range heads {
			found, err := s.Peek(t.Context(), []store.LaneRead{{Lane: h.Lane, Until: now, Limit: 9}})
			fatal.If(t, err)
			n += len(found[0])
		}
		return n
	}
	redistest.Until(t, "the task is due", func() bool { return waiting() == 1 })
	got, err := s.Get(t.Context(), tasktest.Key("again"))
	fatal.If(t, err)
	replies, err := s.Transit(t.Context(), task.FloorMillis(s.Now()), store.Claims([]task.Claim{tasktest.Claim(got, "token", due+60_000)}))
	fatal.If(t, errors.Join(err, replies[0].Err))
	taken := time.Now()
	redistest.Until(t, "the copy is old", func() bool { return time.Since(taken) > 2*rollbackBeats*s.heartbeat() && waiting() == 0 })
	if n := s.Standing().Rollbacks; n != 0 {
		t.Errorf("%d rollbacks before the restore", n)
	}
	restores := "BEGIN; LOCK TABLE node IN ACCESS EXCLUSIVE MODE;"
	for _, table := range tables {
		restores += "TRUNCATE " + table + "; INSERT INTO " + table + " SELECT * FROM old_" + table + ";"
	}
	sql(restores + "UPDATE news SET xid = '999999999'; COMMIT")
	redistest.Until(t, "the task is found again", func() bool { return s.Standing().Rollbacks == 1 && waiting() == 1 })
	before := s.replied.Load()
	redistest.Until(t, "it rests", func() bool { return s.replied.Load() > before+int64(3*s.heartbeat()) })
	if n := s.Standing().Rollbacks; n != 1 {
		t.Errorf("%d rollbacks after the restore", n)
	}
}

// After a failover or a restore, the server hands out numbers of transactions again. A node
// that has acquired its shards finds the tasks of those.
func TestNewsOfRepeatedTransactionsAreRead(t *testing.T) {
	url := migrated(t)
	s, writer := openedAt(t, url).(*Store), openedAt(t, url) //nolint:forcetypeassert // it has no other type
	defer func() { fatal.If(t, errors.Join(s.Close(), writer.Close())) }()
	found := 0
	defer s.Watch(store.Watcher{Tasks: func(entries []task.Entry) { found += len(entries) }})()
	s.last = "999999999:999999999:"
	fatal.If(t, s.readOwned(t.Context(), s.member.Owned()))
	fatal.If(t, errors.Join(create(t.Context(), writer, 1, "a", 1), s.poll(t.Context())))
	if found != 1 {
		t.Errorf("%d tasks were found", found)
	}
}

// News from before an acquisition can be millions. They are not read, because the node reads
// the lanes, but they are added up.
func TestOldNewsAreOnlyAddedUp(t *testing.T) {
	url := migrated(t)
	writer := openedAt(t, url)
	defer func() { fatal.If(t, writer.Close()) }()
	create := func(name string) { fatal.If(t, create(t.Context(), writer, 1, name, 1)) }
	create("old")
	s := openedAt(t, url).(*Store) //nolint:forcetypeassert // it has no other type
	defer func() { fatal.If(t, s.Close()) }()
	var found []string
	defer s.Watch(store.Watcher{Tasks: func(entries []task.Entry) {
		for _, e := range entries {
			found = append(found, e.Name)
		}
	}})()
	create("new")
	fatal.If(t, s.poll(t.Context()))
	if !slices.Equal(found, []string{"new"}) {
		t.Errorf("news of %v were read", found)
	}
	fatal.If(t, s.fold(t.Context()))
	counts, err := s.Counts(t.Context())
	fatal.If(t, err)
	if n := counts[task.QueueKey{Namespace: task.DefaultNamespace, Queue: task.DefaultQueue}].States[task.Scheduled]; n != 2 || *s.folded.Load() != s.last {
		t.Errorf("%d tasks are counted", n)
	}
}
