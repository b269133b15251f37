package pgstore

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/servertest/pgtest"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/tasktest"
)

// loseStandbys makes COMMITs wait for a standby that does not exist. It returns when they
// wait, because a COMMIT soon after pg_reload_conf may not.
func loseStandbys(t *testing.T, url string) {
	t.Helper()
	psql := psql(t, url)
	psql("ALTER SYSTEM SET synchronous_standby_names = 'absent'")
	psql("SELECT pg_reload_conf()")
	for waits := false; !waits; {
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_, _ = pgtest.Psql(t.Context(), url, "SET synchronous_commit = on; SELECT pg_logical_emit_message(true, '', '')")
		}()
		redistest.Until(t, "a COMMIT waits or ends", func() bool {
			waits = psql("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE wait_event = 'SyncRep'") == "1"
			select {
			case <-ended:
				return true
			default:
				return waits
			}
		})
		<-ended
	}
}

// While no standby answers, no create is confirmed, however often it is repeated, and
// however its connections end. A closed store ends no COMMIT.
func TestFoliotCancelsNoWaitForAStandby(t *testing.T) {
	server := pgtest.New(t)
	fatal.If(t, Migrate(t.Context(), server.URL()))
	psql := psql(t, server.URL())
	loseStandbys(t, server.URL())
	s := openedAt(t, server.URL()).(*Store) //nolint:forcetypeassert // it has no other type
	s.silent = 50 * time.Millisecond
	repeat := func(ctx context.Context) error {
		c := task.Create{Spec: tasktest.Spec("a", 1_000_000), Idempotency: &task.Idempotency{Key: task.Digest([]byte("k")), Fingerprint: "f"}}
		replies, err := s.Transit(ctx, 1000, store.Changes([]task.Change{c}))
		if err == nil {
			err = replies[0].Err
		}
		return err
	}
	for range 4 {
		ctx, stop := context.WithTimeout(t.Context(), 10*s.silent)
		if err := repeat(ctx); err == nil {
			t.Error("a create is confirmed without a standby")
		}
		stop()
	}
	if err := repeat(t.Context()); !errors.Is(err, task.ErrUnavailable) || !strings.Contains(err.Error(), "waits for a standby") {
		t.Errorf("a repeated create ended with %v", err)
	}
	psql("SET synchronous_commit = off; INSERT INTO permit VALUES ('a', '{}', 0)")
	if _, err := s.Sweep(t.Context(), 1000, 10); err != nil || psql("SELECT count(*) FROM permit") != "0" { // it waits for none
		t.Errorf("a sweep ended with %v", err)
	}
	waiting := func() string { return psql("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'") }
	ended := make(chan error, 1)
	go func() {
		ended <- create(t.Context(), s, 1000, "b", 1_000_000)
	}()
	redistest.Until(t, "both COMMITs wait", func() bool { return waiting() == "2" })
	fatal.If(t, s.Close())
	if err := <-ended; !errors.Is(err, task.ErrUnavailable) {
		t.Errorf("the call that Close ended returned %v", err)
	}
	if n := waiting(); n != "2" || strings.Contains(server.FullLog(), "canceling wait") {
		t.Errorf("%s COMMITs wait", n)
	}
}

// If a create is committed after its caller has left, or with an error, its node finds the
// task all the same: a node reads only the news of others.
func TestATaskIsFoundAlthoughItsCallerHasLeft(t *testing.T) {
	server := pgtest.New(t)
	fatal.If(t, Migrate(t.Context(), server.URL()))
	psql := psql(t, server.URL())
	s, err := Open(t.Context(), Config{URL: server.URL(), Durability: strictLevel, Shared: store.Shared{Node: "a"}})
	fatal.If(t, err)
	defer func() { fatal.If(t, s.Close()) }()
	redistest.Until(t, "the node owns all shards", func() bool { return len(s.member.Owned()) == int(s.shards) })
	now := task.CeilMillis(s.Latest())
	loseStandbys(t, server.URL())
	for i, end := range []string{
		"SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'", // with a warning
		"ALTER SYSTEM RESET synchronous_standby_names",
	} {
		ctx, leave := context.WithCancel(t.Context())
		left := make(chan error, 1)
		go func() {
			left <- create(ctx, s, now, fmt.Sprint(i), now)
		}()
		redistest.Until(t, "the COMMIT waits", func() bool { return psql("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'") == "1" })
		leave()
		if err := <-left; !errors.Is(err, context.Canceled) {
			t.Errorf("the call ended with %v", err)
		}
		psql(end)
		psql("SELECT pg_reload_conf()")
		redistest.Until(t, "the node finds the task", func() bool { return finds(t, s, now, fmt.Sprint(i)) })
	}
}

// finds reports whether a node finds a task that is due.
func finds(t *testing.T, s *Store, now task.Millis, name string) bool {
	t.Helper()
	heads, err := store.LaneHeads(t.Context(), s, now)
	fatal.If(t, err)
	for _, h := range heads {
		entries, err := s.Peek(t.Context(), []store.LaneRead{{Lane: h.Lane, Until: now, Limit: 9}})
		fatal.If(t, err)
		if slices.ContainsFunc(entries[0], func(e task.Entry) bool { return e.Name == name }) {
			return true
		}
	}
	return false
}

// The connection of a COMMIT breaks while it waits for a standby. Until it ends, reads of
// its lane find nothing, and raise the mark.
func TestATaskIsFoundAlthoughItsConnectionBroke(t *testing.T) {
	server := pgtest.New(t)
	fatal.If(t, Migrate(t.Context(), server.URL()))
	psql := psql(t, server.URL())
	c, path, err := parse(server.URL())
	fatal.If(t, err)
	var mu sync.Mutex
	var conns []net.Conn
	c.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		mu.Lock()
		defer mu.Unlock()
		conns = append(conns, conn)
		return conn, err
	}
	s, err := Open(t.Context(), Config{Pool: c, Schema: path, Shared: store.Shared{Node: "a"}})
	fatal.If(t, err)
	defer func() { fatal.If(t, s.Close()) }()
	redistest.Until(t, "the node owns all shards", func() bool { return len(s.member.Owned()) == int(s.shards) })
	now := task.CeilMillis(s.Latest())
	for i, name := range []string{"before", "a"} { // Peek needs a lane
		if i == 1 {
			loseStandbys(t, server.URL())
		}
		ended := make(chan error, 1)
		go func() { ended <- create(t.Context(), s, now, name, now) }()
		if i == 1 {
			redistest.Until(t, "the COMMIT waits", func() bool { return psql("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'") == "1" })
			mu.Lock()
			for _, c := range conns {
				_ = c.Close()
			}
			mu.Unlock()
		}
		if err := <-ended; (err != nil) != (i == 1) {
			t.Errorf("the create of %s ended with %v", name, err)
		}
	}
	redistest.Until(t, "a read of the lane is conclusive", func() bool {
		heads, err := store.LaneHeads(t.Context(), s, now)
		if err == nil {
			_, err = s.Peek(t.Context(), []store.LaneRead{{Lane: heads[0].Lane, Until: now, Limit: 9}})
		}
		return err == nil
	})
	psql("ALTER SYSTEM RESET synchronous_standby_names")
	psql("SELECT pg_reload_conf()")
	redistest.Until(t, "the node finds the task", func() bool { return finds(t, s, now, "a") })
}

// A transaction on a server that stands still ends, and a later one has another connection.
func TestATransactionOnASilentServerEnds(t *testing.T) {
	server := pgtest.New(t)
	fatal.If(t, Migrate(t.Context(), server.URL()))
	s := openedAt(t, server.URL()).(*Store) //nolint:forcetypeassert // it has no other type
	defer func() { fatal.If(t, s.Close()) }()
	create := func() error { return create(t.Context(), s, 1000, "a", 1_000_000) }
	fatal.If(t, create())
	s.silent = 50 * time.Millisecond
	server.Pause()
	_, err := transact(t.Context(), s, pgx.RowTo[int64], change{how: synced, sql: "SELECT 1::bigint"})
	server.Resume()
	if !errors.Is(err, errSilent) {
		t.Errorf("it ended with %v", err)
	}
	s.silent = statementEnds
	if err := create(); !errors.Is(err, task.ErrExists) {
		t.Errorf("a repeated create ended with %v", err)
	}
}

// A write that finds an unused connection to a server that stands still does not wait for it.
func TestAnUnusedConnectionToASilentServerIsGivenUp(t *testing.T) {
	server := pgtest.New(t)
	fatal.If(t, Migrate(t.Context(), server.URL()))
	s := openedAt(t, server.URL()).(*Store) //nolint:forcetypeassert // it has no other type
	defer func() { fatal.If(t, s.Close()) }()
	create := func() error { return create(t.Context(), s, 1000, "a", 1_000_000) }
	fatal.If(t, create())
	used := time.Now()
	redistest.Until(t, "the connection is tested before its next use", func() bool { return time.Since(used) > pingAfter })
	server.Pause()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = s.together.Do(context.Background(), nil, class{how: synced})
	}()
	redistest.Until(t, "the write ends", func() bool {
		select {
		case <-ended:
			return true
		default:
			return false
		}
	})
	server.Resume()
}

// The role, the database or a program can have another default isolation, with a snapshot
// that is older than the locks of a transaction.
func TestTransactionsAreReadCommitted(t *testing.T) {
	c, path, err := parse(migrated(t))
	fatal.If(t, err)
	c.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, "SET default_transaction_isolation = 'repeatable read'")
		return err
	}
	s, err := Open(t.Context(), Config{Pool: c, Schema: path, Shared: store.Shared{CallersClock: true}})
	fatal.If(t, err)
	defer func() { fatal.If(t, s.Close()) }()
	const show = "SELECT current_setting('transaction_isolation')"
	for _, how := range []commit{synced, unsynced} {
		got, err := transact(t.Context(), s, pgx.RowTo[string], change{how: how, sql: show})
		if err != nil || got[0] != "read committed" {
			t.Errorf("%s: %s, %v", how, got, err)
		}
	}
	got, err := durably(t.Context(), s, func(ctx context.Context, tx pgx.Tx) (got string, err error) {
		err = tx.QueryRow(ctx, show).Scan(&got)
		return got, err
	})
	if err != nil || got != "read committed" {
		t.Errorf("%s, %v", got, err)
	}
}

// A process that stands still while it has locked a limit, or the settings, holds up the
// others for a moment.
func TestAProcessThatStandsStillHoldsUpOthersForAMoment(t *testing.T) {
	s := openNodes(t, migrated(t), "a")[0]
	ask := store.PermitAsk{PermitScope: store.PermitScope{Namespace: "default", Queue: "q"}}
	still, err := s.pool.BeginTx(t.Context(), readCommitted)
	fatal.If(t, err)
	defer func() { _ = still.Rollback(context.Background()) }()
	_, _, err = s.ask(t.Context(), still, ask)
	fatal.If(t, err)
	redistest.Until(t, "another one gets a reply", func() bool { return s.Permit(t.Context(), []store.PermitAsk{ask})[0].Err == nil })

	user := client(t, s)
	_, err = user.Exec(t.Context(), "BEGIN; SELECT FROM version FOR UPDATE")
	fatal.If(t, err)
	_, err = s.Configure(t.Context(), 0, []settings.Edit{settings.PutQueue{Queue: settings.QueueSettings{Namespace: task.DefaultNamespace, Name: "q"}}})
	if !errors.As(err, new(*task.LockedError)) {
		t.Errorf("the edit ended with %v", err)
	}
}

// A server has a successor between the read of a task and the wait for a standby. The task
// must not be confirmed if the successor does not have it.
func TestStrictConfirmsNoTaskThatOnlyAReplacedServerHas(t *testing.T) {
	server := pgtest.New(t, "synchronous_standby_names=one")
	standby, err := server.Standby("one")
	fatal.If(t, err)
	defer standby.Close()
	fatal.If(t, Migrate(t.Context(), server.URL()))
	c, path, err := parse(server.URL())
	fatal.If(t, err)
	uses, replaceAt := 0, 0
	c.PrepareConn = func(ctx context.Context, _ *pgx.Conn) (bool, error) {
		if uses++; uses == replaceAt {
			_, err := pgtest.Psql(ctx, server.URL(), "DELETE FROM task")
			return true, err
		}
		return true, nil
	}
	s, err := Open(t.Context(), Config{Pool: c, Schema: path, Durability: strictLevel, Shared: store.Shared{CallersClock: true}})
	fatal.If(t, err)
	defer func() { fatal.If(t, s.Close()) }()
	s.waits.Store(true) // as a poll would find
	create := func() error { return create(t.Context(), s, 1000, "a", 1_000_000) }
	fatal.If(t, create())
	uses = 0
	if err := create(); !errors.Is(err, task.ErrExists) {
		t.Errorf("a repeated create ended with %v", err)
	}
	uses, replaceAt = 0, uses // the wait is the last use of a connection
	if err := create(); err != nil {
		t.Errorf("on the successor, a repeated create ended with %v", err)
	}
	if _, err := s.Get(t.Context(), tasktest.Key("a")); err != nil {
		t.Errorf("the successor has no task: %v", err)
	}
}
