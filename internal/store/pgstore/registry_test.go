package pgstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/membership"
	"github.com/foliot/foliot/internal/task"
)

// A name belongs to the first process that has it, until that one leaves or is silent,
// and a drain to the process that is drained. A process that loses its name keeps the
// lease of its shards to the end, and gets no other one.
func TestANameBelongsToItsFirstProcess(t *testing.T) {
	const silence, lease, long = 3 * time.Second, 6 * time.Second, 1_000_000
	all := nodes{}
	a, again, b := &membership.Peer{Name: "a", Nonce: "1"}, &membership.Peer{Name: "a", Nonce: "2"}, &membership.Peer{Name: "b", Nonce: "3"}
	for i, step := range []struct {
		at   int64
		mode membership.Mode
		who  *membership.Peer
		want membership.Found
		list string
		ends int64 // the end of the lease of who
	}{
		{0, membership.Alive, a, membership.Moved, "a1", 6000},
		{1000, membership.Alive, a, 0, "a1", 7000},
		{2000, membership.Alive, again, membership.Other, "a1 a2?", 0},
		{4000, membership.KeepName, again, membership.Other, "a1 a2?", 0},
		{4001, membership.Alive, again, membership.Moved, "a1? a2", 10_001},
		{4500, membership.Alive, a, membership.Other, "a1? a2", 7000},
		{5000, membership.Alive, b, membership.Moved, "a1? a2 b3", 11_000},
		{6000, membership.Leave, a, 0, "a2 b3", 7000},
		{7000, membership.Leave, again, membership.Moved, "b3", 10_001},
		{8000, membership.NoName, a, membership.Other, "b3 a1?", 0},
		{40_000, membership.Alive, a, membership.Moved, "a1", 46_000},
		{39_000, membership.Alive, a, 0, "a1", 45_000}, // the clock was set back
	} {
		now := task.Millis(long + step.at)
		found, list, ends := membership.Found(0), "", task.Millis(0)
		all, found = all.beat(step.mode, step.who, silence, lease, now)
		for _, p := range all.peers(now, silence, false) {
			if list != "" {
				list += " "
			}
			if list += p.Name + p.Nonce; p.Duplicate {
				list += "?"
			}
		}
		for _, n := range all {
			if n.Process == step.who.Process() {
				ends = max(n.Until-long, 0)
			}
		}
		if found != step.want || list != step.list || ends != task.Millis(step.ends) {
			t.Errorf("step %d: found %d, %q, a lease until %d", i, found, list, ends)
		}
	}
	if _, err := all.drain(store.Drain{Node: "a"}, silence, long+39_000); !errors.Is(err, store.ErrLastNode) {
		t.Errorf("the last node: %v", err)
	}
	for i, want := range []bool{true, false} {
		if changed, err := all.drain(store.Drain{Node: "a", Force: true}, silence, long+39_000); changed != want && err == nil {
			t.Errorf("drain %d: %v, %v", i, changed, err)
		}
	}
	if p := all.peers(long+39_000, silence, false)[0]; !p.Draining || !p.Forced {
		t.Errorf("%+v", p)
	}
}

// outsiders returns processes that use the registry by hand.
func outsiders(t *testing.T, names ...string) (all []registry, peers []*membership.Peer) {
	t.Helper()
	url := migrated(t)
	for _, name := range names {
		s, err := Open(t.Context(), Config{URL: url, Embedded: true, Node: name})
		fatal.If(t, err)
		t.Cleanup(func() { fatal.If(t, s.Close()) })
		all, peers = append(all, registry{s}), append(peers, &membership.Peer{Name: name, Nonce: "1"})
	}
	return all, peers
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
		_, err := all[0].pool.Exec(t.Context(), "UPDATE node SET until = 1 WHERE process = 'a/1'", &all[0].schema)
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
	_, err := all[1].pool.Exec(t.Context(), "UPDATE shard SET owner = 'b/1/0' WHERE n = 1", &all[1].schema)
	fatal.If(t, err)
	hold(1, "b/1/2", "b/1/0")
	hold(0, "b/1/2", "b/1/0")
	beat(0, membership.Moved)
	all[0].Lease(t.Context(), "release", "b/1", time.Minute, []int{1})
	hold(0, "b/1/2", "a/1/2")
	beat(0, 0)
	_, err = all[0].pool.Exec(t.Context(), "DELETE FROM recovery", &all[0].schema) // as a crash does
	fatal.If(t, err)
	beat(0, membership.Moved)
	beat(0, 0)
	beat(1, membership.Moved)
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
		s, err := Open(t.Context(), Config{URL: url, Node: name})
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
