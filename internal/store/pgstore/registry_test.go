package pgstore

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/membership"
)

// outsiders returns processes that use the registry by hand.
func outsiders(t *testing.T, names ...string) (all []registry, peers []*membership.Peer) {
	t.Helper()
	url := migrated(t)
	for _, name := range names {
		s, err := Open(t.Context(), Config{URL: url, Shared: store.Shared{Embedded: true, Node: name}})
		fatal.If(t, err)
		t.Cleanup(func() { fatal.If(t, s.Close()) })
		all, peers = append(all, registry{s}), append(peers, &membership.Peer{Name: name, Nonce: "1"})
	}
	return all, peers
}

// Heartbeats come from the loop that reads new shards, so a long read of the news must not
// hold that up for longer than the loop allows.
func TestALongReadOfNewsHoldsUpNoHeartbeat(t *testing.T) {
	all, _ := outsiders(t, "a")
	s := all[0].Store
	fatal.If(t, s.polling.Acquire(t.Context(), 1))
	ctx, stop := context.WithTimeout(t.Context(), time.Millisecond)
	defer stop()
	fresh := &membership.Owned{}
	if err := s.prepare(ctx, []*membership.Owned{fresh}); err == nil {
		t.Error("it did not wait for the news")
	}
	s.polling.Release(1)
	redistest.Until(t, "the read goes on", fresh.Ready.Load)
}

// A lease lasts until another process takes a shard after its end, and then it is lost with
// all shards.
func TestATakeoverEndsALease(t *testing.T) {
	all, peers := outsiders(t, "a", "b")
	beat := func(i int, want membership.Found) {
		t.Helper()
		if n, err := all[i].Beat(t.Context(), membership.Alive, peers[i], 3*time.Second); err != nil || n.Found != want {
			t.Errorf("a heartbeat of %s found %d, %v, and not %d", peers[i].Name, n.Found, err, want)
		}
	}
	hold := func(i int, want ...string) {
		t.Helper()
		for n, r := range all[i].Lease(t.Context(), "hold", peers[i].Process(), time.Minute, []int{0, 1}) {
			if r.Err != nil || r.Owner != want[n] {
				t.Errorf("the owner of shard %d is %q, %v, and not %q", n, r.Owner, r.Err, want[n])
			}
		}
	}
	silent := func() {
		t.Helper()
		_, err := all[0].pool.Exec(t.Context(), "UPDATE foliot.node SET until = 1 WHERE process = 'a/1'", all[0].schema)
		fatal.If(t, err)
	}
	hold(0, "", "") // it is no node
	beat(0, membership.Moved)
	hold(0, "a/1/1", "a/1/1")
	beat(1, membership.Moved)
	hold(1, "a/1/1", "a/1/1")
	silent()
	beat(0, 0) // nothing was taken
	hold(1, "a/1/1", "a/1/1")
	silent()
	_, err := all[1].pool.Exec(t.Context(), "UPDATE foliot.shard SET owner = 'b/1/0' WHERE n = 1", all[1].schema)
	fatal.If(t, err)
	hold(1, "b/1/2", "b/1/0")
	hold(0, "b/1/2", "b/1/0")
	beat(0, membership.Moved)
	all[0].Lease(t.Context(), "release", "b/1", time.Minute, []int{1})
	hold(0, "b/1/2", "a/1/2")
	beat(0, 0)
	_, err = all[0].pool.Exec(t.Context(), "DELETE FROM foliot.recovery", all[0].schema) // as a crash does
	fatal.If(t, err)
	beat(0, membership.Moved)
	beat(0, 0)
	for _, sql := range []string{ // the heartbeat that finds a crash fails
		"CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION USING MESSAGE = ''failed''; END'",
		"CREATE TRIGGER fails BEFORE INSERT ON node EXECUTE FUNCTION fail()",
	} {
		runs(t, all[1].config.URL)(sql)
	}
	if _, err := all[1].Beat(t.Context(), membership.Alive, peers[1], 3*time.Second); err == nil {
		t.Error("a heartbeat did not fail")
	}
	runs(t, all[1].config.URL)("DROP TRIGGER fails ON node")
	beat(1, membership.Moved)
	beat(1, 0)
}

// A heartbeat looks for the oldest snapshot now and then.
func TestAHeartbeatFindsTheOldestSnapshot(t *testing.T) {
	all, peers := outsiders(t, "a")
	r := all[0]
	found := func() time.Duration {
		t.Helper()
		_, err := r.Beat(t.Context(), membership.Alive, peers[0], 3*time.Second)
		fatal.If(t, err)
		return r.Standing().Postgres.OldestSnapshot
	}
	tx, err := r.commits.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	fatal.If(t, err)
	_, err = tx.Exec(t.Context(), "SELECT 1")
	fatal.If(t, err)
	began := time.Now()
	pause(t.Context(), 50*time.Millisecond)
	least := time.Since(began)
	got := found()
	if got < least {
		t.Errorf("the snapshot is at least %v old, and not %v", least, got)
	}
	fatal.If(t, tx.Rollback(t.Context()))
	if again := found(); again != got {
		t.Errorf("the next heartbeat looked again, and found %v", again)
	}
	r.examined = time.Time{}
	if got := found(); got >= time.Since(began) {
		t.Errorf("without a snapshot, it found %v", got)
	}
}

// A heartbeat of a process with a taken name writes only the row of this process.
func TestAProcessWithATakenNameChangesNoOtherRow(t *testing.T) {
	all, peers := outsiders(t, "a")
	again := &membership.Peer{Name: "a", Nonce: "2"}
	row := func() (version string) {
		t.Helper()
		fatal.If(t, all[0].pool.QueryRow(t.Context(), "SELECT xmin::text FROM foliot.node WHERE process = 'a/1'", all[0].schema).Scan(&version))
		return version
	}
	_, err := all[0].Beat(t.Context(), membership.Alive, peers[0], 3*time.Second)
	fatal.If(t, err)
	before := row()
	for range 2 {
		if n, err := all[0].Beat(t.Context(), membership.Alive, again, 3*time.Second); err != nil || n.Found != membership.Other {
			t.Errorf("found %d, %v", n.Found, err)
		}
	}
	if after := row(); after != before {
		t.Errorf("transaction %s wrote the row of the other process", after)
	}
}

// At one instant at most one node acts as the owner of a shard, while heartbeats wait so
// long that leases end.
func TestOneNodeAtATimeOwnsAShard(t *testing.T) {
	url := migrated(t)
	conn, err := pgx.Connect(t.Context(), url)
	fatal.If(t, err)
	defer func() { fatal.If(t, conn.Close(context.Background())) }()
	_, err = conn.Exec(t.Context(), "UPDATE meta SET lease = 600")
	fatal.If(t, err)
	var all []*Store
	for _, name := range []string{"a", "b", "c"} {
		s, err := Open(t.Context(), Config{URL: url, Shared: store.Shared{Node: name}})
		fatal.If(t, err)
		t.Cleanup(func() { fatal.If(t, s.Close()) })
		all = append(all, s)
	}
	stalls := make(chan struct{})
	go func() {
		defer close(stalls)
		for i := range 8 {
			err := pgx.BeginFunc(t.Context(), conn, func(tx pgx.Tx) error {
				sql := "LOCK TABLE node IN SHARE MODE"
				if i%2 == 0 {
					sql = fmt.Sprintf("SELECT FROM node WHERE starts_with(process, '%c') FOR UPDATE", 'a'+i/2%3)
				}
				_, err := tx.Exec(t.Context(), sql)
				pause(t.Context(), 700*time.Millisecond)
				return err
			})
			if err != nil {
				t.Error(err)
			}
			pause(t.Context(), 300*time.Millisecond)
		}
	}()
	owners := func(n int) (found []*membership.Owned) {
		for _, s := range all {
			if o := s.member.Owns(n); o != nil {
				found = append(found, o)
			}
		}
		return found
	}
	for stalled := true; stalled; pause(t.Context(), time.Millisecond) {
		select {
		case <-stalls:
			stalled = false
		default:
		}
		for n := range all[0].shards {
			if found := owners(n); len(found) > 1 && slices.Contains(owners(n), found[0]) { // it was no handover between the looks
				t.Fatalf("shard %d has the owners %s and %s", n, found[0].ID, found[1].ID)
			}
		}
	}
	lost := uint64(0)
	redistest.Until(t, "each shard has an owner", func() bool {
		lost = 0
		for _, s := range all {
			lost += s.member.Standing().Lost
		}
		for n := range all[0].shards {
			if len(owners(n)) != 1 {
				return false
			}
		}
		return true
	})
	if t.Logf("%d times a shard was lost", lost); lost == 0 {
		t.Error("no lease ended")
	}
}
