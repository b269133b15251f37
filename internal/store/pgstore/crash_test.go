package pgstore

import (
	"errors"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/servertest/pgtest"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/tasktest"
)

// A crash of PostgreSQL undoes no confirmed create. It may undo claims. Then
// the tasks are found again, although they lie before the marks.
func TestACrashOfPostgreSQLLosesNoTask(t *testing.T) {
	server := pgtest.New(t)
	fatal.If(t, Migrate(t.Context(), server.URL()))
	s, err := Open(t.Context(), Config{URL: server.URL()})
	fatal.If(t, err)
	defer func() { fatal.If(t, s.Close()) }()
	redistest.Until(t, "the node owns all shards", func() bool { return len(s.member.Owned()) == s.shards })
	const tasks = 50
	due := task.CeilMillis(s.Latest())
	var changes []task.Change
	for i := range tasks {
		changes = append(changes, task.Create{Spec: tasktest.Spec(fmt.Sprint("task-", i), due)})
	}
	replies, err := s.Transit(t.Context(), due, store.Changes(changes))
	fatal.If(t, err)
	for _, r := range replies {
		fatal.If(t, r.Err)
	}
	waiting := func() (names map[string]task.Lane) {
		now := task.FloorMillis(s.Now())
		heads, err := store.LaneHeads(t.Context(), s, now)
		fatal.If(t, err)
		names = map[string]task.Lane{}
		for _, h := range heads {
			found, err := s.Peek(t.Context(), []store.LaneRead{{Lane: h.Lane, Until: now, Limit: tasks}})
			if err != nil {
				return nil // PostgreSQL is not back yet
			}
			for _, e := range found[0] {
				names[e.Name] = e.Lane
			}
		}
		return names
	}
	redistest.Until(t, "all tasks are due", func() bool { return len(waiting()) == tasks })
	claimed := 0
	for name, lane := range waiting() {
		now := task.FloorMillis(s.Now())
		replies, err := s.Transit(t.Context(), now, store.Claims([]task.Claim{{Key: tasktest.Key(name), Lane: lane, Token: task.Token(name), Until: now + 60_000}}))
		fatal.If(t, err)
		fatal.If(t, replies[0].Err)
		claimed++
	}
	if left := waiting(); len(left) > 0 {
		t.Fatalf("after the claims %d wait", len(left))
	}
	server.Kill()
	if _, err := s.Transit(t.Context(), due, store.Changes(changes)); !errors.Is(err, task.ErrUnavailable) {
		t.Errorf("without PostgreSQL: %v", err)
	}
	fatal.If(t, server.Restart())
	redistest.Until(t, "each task is running or found again", func() bool {
		counts, err := s.Counts(t.Context())
		if err != nil {
			return false
		}
		c := counts[task.QueueKey{Namespace: task.DefaultNamespace, Queue: task.DefaultQueue}]
		return c.States[task.Running]+c.States[task.Scheduled] == tasks && int64(len(waiting())) == c.States[task.Scheduled]
	})
}

// At the level strict, a commit that waits for no standby is an error.
func TestStrictNeedsAStandby(t *testing.T) {
	s, err := Open(t.Context(), Config{URL: migrated(t), Durability: strictLevel})
	fatal.If(t, err)
	defer func() { fatal.If(t, s.Close()) }()
	now := task.CeilMillis(s.Latest())
	if err = create(t.Context(), s, now, "a", now); !errors.Is(err, task.ErrNotDurable) {
		t.Errorf("got %v", err)
	}
}

// If the wait for a standby is cancelled, PostgreSQL commits with a warning. Then the
// repeated create finds a task that no standby has.
func TestACancelledWaitForAStandbyIsAnErrorAlsoForTheRepeatedRequest(t *testing.T) {
	server := pgtest.New(t)
	fatal.If(t, Migrate(t.Context(), server.URL()))
	psql := psql(t, server.URL())
	for _, setting := range []string{"client_min_messages = error", "synchronous_commit = off"} { // strict is not less for such a role
		psql("ALTER ROLE postgres SET " + setting)
	}
	loseStandbys(t, server.URL())
	s, err := Open(t.Context(), Config{URL: server.URL(), Durability: strictLevel, Shared: store.Shared{Node: "a"}})
	fatal.If(t, err)
	defer func() { fatal.If(t, s.Close()) }()
	now := task.CeilMillis(s.Latest())
	requests := map[string]func() error{
		"create": func() error { return create(t.Context(), s, now, "a", now) },
		"edit": func() error {
			_, err := s.Configure(t.Context(), now, []settings.Edit{settings.PutQueue{Queue: settings.QueueSettings{Namespace: task.DefaultNamespace, Name: "q"}}})
			return err
		},
		"drain": func() error { return s.Drain(t.Context(), now, store.Drain{Node: s.config.Node, Force: true}) },
	}
	for name, request := range requests {
		for range 2 {
			ended := make(chan error, 1)
			go func() { ended <- request() }()
			redistest.Until(t, "the request ends", func() bool {
				psql("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
				select {
				case err = <-ended:
					return true
				default:
					return false
				}
			})
			if !errors.Is(err, task.ErrNotDurable) {
				t.Errorf("%s: %v", name, err)
			}
			if name == "drain" { // the node is drained, which the second one finds
				break
			}
		}
	}
}

// A server that does not answer, or a pooler without a server, holds up no request.
func TestASilentServerIsUnavailable(t *testing.T) {
	if testing.Short() {
		t.Skip("make postgres-long runs it: it takes as long as a statement may")
	}
	t.Parallel()
	server := pgtest.New(t)
	fatal.If(t, Migrate(t.Context(), server.URL()))
	s, err := Open(t.Context(), Config{URL: server.URL(), Shared: store.Shared{Embedded: true}})
	fatal.If(t, err)
	defer func() { fatal.If(t, s.Close()) }()
	server.Pause()
	defer server.Resume()
	now := task.CeilMillis(s.Latest())
	ended := make(chan error, 2)
	go func() {
		ended <- create(t.Context(), s, now, "a", now)
	}()
	go func() {
		_, err := s.Nodes(t.Context())
		ended <- err
	}()
	for range 2 {
		if err := <-ended; !errors.Is(err, task.ErrUnavailable) {
			t.Errorf("got %v", err)
		}
	}
}

// A dump has the numbers of transactions of its server. In another server, they can be
// in the future.
func TestNewsOfARestoredDumpAreAddedUp(t *testing.T) {
	url := migrated(t)
	c, err := pgx.Connect(t.Context(), url)
	fatal.If(t, err)
	defer c.Close(t.Context())
	_, err = c.Exec(t.Context(), `INSERT INTO news (xid, shard, node, news) VALUES ('9999999', 3, 'x', '[{"d": [{"Namespace": "default", "Queue": "q", "States": [5], "Bytes": 7}]}]')`)
	fatal.If(t, err)
	s, err := Open(t.Context(), Config{URL: url})
	fatal.If(t, err)
	defer func() { fatal.If(t, s.Close()) }()
	redistest.Until(t, "the news are counted", func() bool {
		var left, counted int
		fatal.If(t, c.QueryRow(t.Context(), "SELECT (SELECT count(*) FROM news), (SELECT coalesce(sum(n), 0) FROM count)").Scan(&left, &counted))
		return left == 0 && counted == 12
	})
}
