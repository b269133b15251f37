package pgstore

import (
	"context"
	"fmt"
	"slices"
	"strings"
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

// drives makes the calls of a dispatcher that has nothing to do, until the test ends.
func drives(t *testing.T, s *Store) {
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for pause(ctx, 20*time.Millisecond) {
			now := task.FloorMillis(s.Trusted())
			for _, do := range []func() (int, error){
				func() (int, error) { return s.Reap(ctx, now, 1000) },
				func() (int, error) { return s.Sweep(ctx, now, 1000) },
				func() (int, error) { heads, err := store.LaneHeads(ctx, s, now); return len(heads), err },
			} {
				if _, err := do(); err != nil && ctx.Err() == nil {
					t.Error(err)
				}
			}
		}
	}()
	t.Cleanup(func() { stop(); <-done })
}

// An idle node makes one statement for each heartbeat, and heartbeats are more than a second
// apart. It writes less than 4 MB of WAL an hour.
func TestAnIdleNodeMakesOneStatementASecond(t *testing.T) {
	server := pgtest.New(t, "log_statement=all", "log_line_prefix=%a ", "autovacuum=off")
	fatal.If(t, Migrate(t.Context(), server.URL()))
	var all []*Store
	for _, name := range []string{"a", "b"} {
		s, err := Open(t.Context(), Config{URL: server.URL() + "&application_name=node", Shared: store.Shared{Node: name}})
		fatal.If(t, err)
		t.Cleanup(func() { fatal.If(t, s.Close()) })
		all = append(all, s)
	}
	redistest.Until(t, "the shards are divided", func() bool { return len(all[0].member.Owned()) == 16 && len(all[1].member.Owned()) == 16 })
	now := task.CeilMillis(all[0].Latest())
	changes := []task.Change{task.Create{Spec: tasktest.Spec("far", now+3_600_000)}, task.Create{Spec: tasktest.Spec("ended", now+3_600_000)}, task.Cancel{Key: tasktest.Key("ended")}}
	for _, c := range changes {
		fatal.If(t, errOf(all[0].Transit(t.Context(), now, store.Changes([]task.Change{c}))))
	}
	for _, s := range all {
		s.busy.Store(-int64(time.Hour))
		s.acquired.Store(-int64(time.Hour))
		drives(t, s)
	}
	conn, err := pgx.Connect(t.Context(), server.URL())
	fatal.If(t, err)
	defer func() { fatal.If(t, conn.Close(context.Background())) }()
	place := func() (wal int) {
		fatal.If(t, conn.QueryRow(t.Context(), "SELECT (pg_current_wal_lsn() - '0/0')::bigint").Scan(&wal))
		return wal
	}
	made := func() (beats int, others []string) {
		for _, entry := range strings.Split(server.FullLog(), "node LOG:  ")[1:] {
			if _, sql, _ := strings.Cut(entry, ": "); strings.HasPrefix(strings.TrimSpace(sql), renewNode[1:20]) {
				beats++
			} else {
				others = append(others, sql)
			}
		}
		return beats, others
	}
	bytes := 0
	redistest.Until(t, "the nodes rest", func() bool {
		from := place()
		before, known := made()
		for n := before; n < before+10; pause(t.Context(), 50*time.Millisecond) {
			var others []string
			if n, others = made(); len(others) > len(known) {
				t.Logf("after %d heartbeats: %.200s", n-before, others[len(known)])
				return false
			}
			bytes = (place() - from) / max(n-before, 1)
		}
		return true
	})
	t.Logf("%d bytes of WAL for each heartbeat", bytes)
	if bytes > 4<<20/3600 {
		t.Errorf("an idle node writes %d bytes of WAL a second", bytes)
	}
	for _, s := range all {
		if period := s.memberConfig().UntilNext(s.heartbeat()); period < time.Second || period > pollIdle {
			t.Errorf("a heartbeat comes %v after the last one", period)
		}
	}
}

// Without messages between the nodes, a busy node finds a task of another process within a
// quarter of a second, and an idle one within 1.1 s.
func TestANodeFindsTasksWithoutMessages(t *testing.T) {
	owner := openNodes(t, migrated(t), "a")[0]
	writer, err := Open(t.Context(), Config{URL: owner.config.URL, Shared: store.Shared{Embedded: true}})
	fatal.If(t, err)
	defer func() { fatal.If(t, writer.Close()) }()
	writer.channel = "nowhere"
	found := make(chan string, 100)
	defer owner.Watch(store.Watcher{Tasks: func(entries []task.Entry) {
		for _, e := range entries {
			found <- e.Name
		}
	}})()
	n := 0
	for _, c := range []struct {
		idle, bound time.Duration
	}{{0, 250 * time.Millisecond}, {time.Hour, 1100 * time.Millisecond}} {
		redistest.Until(t, "most tasks are found in time", func() bool { // a machine may be busy for a while
			var took []time.Duration
			for range 5 {
				n++
				owner.busy.Store(int64(time.Since(owner.opened) - c.idle))
				now, name := task.CeilMillis(owner.Latest()), fmt.Sprint("task-", n)
				fatal.If(t, create(t.Context(), writer, now, name, now))
				for began := time.Now(); ; {
					if <-found == name {
						took = append(took, time.Since(began))
						break
					}
				}
			}
			slices.Sort(took)
			t.Logf("idle for %v: found after %v", c.idle, took)
			return took[len(took)/2] <= c.bound
		})
	}
}

func errOf(_ any, err error) error { return err }
