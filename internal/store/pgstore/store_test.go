package pgstore

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/quick"
	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/servertest/pgtest"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/memstore"
	"github.com/foliot/foliot/internal/store/storetest"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/tasktest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(pgtest.Main{M: m}) }

// migrated returns the URL of an empty store.
func migrated(t *testing.T) string {
	t.Helper()
	server := pgtest.Shared(t)
	url := server.URL() + "&search_path=" + server.Schema(t)
	fatal.If(t, Migrate(t.Context(), url))
	return url
}

// opened returns an empty store. The tests set its time.
func opened(t *testing.T) store.Store {
	t.Helper()
	return openedAt(t, migrated(t))
}

// create creates a task, and returns the error of the call or of the task.
func create(ctx context.Context, s store.Store, now task.Millis, name string, due task.Millis) error {
	replies, err := s.Transit(ctx, now, store.Changes([]task.Change{task.Create{Spec: tasktest.Spec(name, due)}}))
	if err == nil {
		err = replies[0].Err
	}
	return err
}

// psql returns a function that returns what psql prints.
func psql(t *testing.T, url string) func(sql string) string {
	t.Helper()
	return func(sql string) string {
		t.Helper()
		out, err := pgtest.Psql(t.Context(), url, sql)
		fatal.If(t, err)
		return out
	}
}

func openedAt(t *testing.T, url string) store.Store {
	t.Helper()
	s, err := Open(t.Context(), Config{URL: url, Shared: store.Shared{Policy: storetest.Policy, AuditKeep: storetest.AuditKeep, CallersClock: true}})
	fatal.If(t, err)
	return s
}

func TestKeepsTheContractOfStores(t *testing.T) { storetest.Run(t, opened) }

func TestStoreEqualsTheReference(t *testing.T) {
	scripts := 0
	if testing.Short() {
		scripts = quick.Of(5, 2)
	}
	differential(t, scripts, opened)
}

func differential(t *testing.T, scripts int, opened func(*testing.T) store.Store) {
	storetest.Differential(t, storetest.Subject{
		Open: opened, OrderOfRecords: true, Scripts: scripts,
		Reference: func(now task.Millis, c storetest.Contents) store.Store {
			return storetest.Refill(memstore.New(memstore.Config{Policy: storetest.Policy, AuditKeep: storetest.AuditKeep}), now, c)
		},
	})
}

// openNodes opens nodes of one store, and waits until they have divided the shards.
func openNodes(t *testing.T, url string, names ...string) []*Store {
	t.Helper()
	all := make([]*Store, len(names))
	for i, name := range names {
		s, err := Open(t.Context(), Config{URL: url, Shared: store.Shared{Node: name}})
		fatal.If(t, err)
		t.Cleanup(func() { fatal.If(t, s.Close()) })
		all[i] = s
	}
	redistest.Until(t, "the shards are divided", func() bool {
		n := 0
		for _, s := range all {
			if len(s.member.Owned()) == 0 {
				return false
			}
			n += len(s.member.Owned())
		}
		return n == all[0].shards
	})
	return all
}

// Each node creates tasks for all nodes. Each task is claimed by the owner of its
// shard, which finds it in the lanes of its own shards.
func TestTheOwnerOfAShardFindsTheTasksOfOtherNodes(t *testing.T) {
	theOwnerFindsTheTasksOfOtherNodes(t, migrated(t))
}

func theOwnerFindsTheTasksOfOtherNodes(t *testing.T, url string) {
	all := openNodes(t, url, "a", "b", "c")
	const each = 40
	due := task.CeilMillis(time.Now())
	for i, s := range all {
		var changes []task.Change
		for n := range each {
			changes = append(changes, task.Create{Spec: tasktest.Spec(fmt.Sprint("task-", i, "-", n), due)})
		}
		replies, err := s.Transit(t.Context(), due, store.Changes(changes))
		fatal.If(t, err)
		for _, r := range replies {
			fatal.If(t, r.Err)
		}
	}
	claimed := map[string]int{}
	redistest.Until(t, "all tasks are claimed", func() bool {
		for _, s := range all {
			now := task.FloorMillis(s.Now())
			heads, err := store.LaneHeads(t.Context(), s, now)
			fatal.If(t, err)
			for _, h := range heads {
				found, err := s.Peek(t.Context(), []store.LaneRead{{Lane: h.Lane, Until: now, Limit: 100}})
				fatal.If(t, err)
				var claims []task.Claim
				for _, e := range found[0] {
					claims = append(claims, task.Claim{Key: e.Key(), Lane: e.Lane, Token: task.Token(e.Name), Until: now + 30_000})
				}
				replies, err := s.Transit(t.Context(), now, store.Claims(claims))
				fatal.If(t, err)
				for i, r := range replies {
					if fatal.If(t, r.Err); r.Task.Name != claims[i].Key.Name {
						t.Error(r.Task.Name)
					}
					claimed[claims[i].Key.Name]++
				}
			}
		}
		return len(claimed) == each*len(all)
	})
	for name, n := range claimed {
		if n != 1 {
			t.Errorf("%s was claimed %d times", name, n)
		}
	}
}

// The changes of a user's transaction happen if it commits, and then the owners of the
// shards find them.
func TestChangesAreThoseOfTheUsersTransaction(t *testing.T) {
	changesAreThoseOfTheUsersTransaction(t, migrated(t))
}

func changesAreThoseOfTheUsersTransaction(t *testing.T, url string) {
	s := openNodes(t, url, "a")[0]
	for _, commits := range []bool{false, true} {
		due := task.CeilMillis(s.Now()) + 1_000_000
		name := fmt.Sprint("order-", commits)
		kept := tasktest.Spec("kept-"+name, due)
		one := func(ctx context.Context, c task.Change) store.Reply {
			t.Helper()
			replies, err := s.Transit(ctx, due-1_000_000, store.Changes([]task.Change{c}))
			fatal.If(t, err)
			fatal.If(t, replies[0].Err)
			return replies[0]
		}
		one(t.Context(), task.Create{Spec: kept})
		tx, err := s.pool.Begin(t.Context())
		fatal.If(t, err)
		_, err = tx.Exec(t.Context(), "SET LOCAL search_path = public; CREATE TEMP TABLE task (of_the_user int) ON COMMIT DROP") // the user's tables
		fatal.If(t, err)
		ctx := Within(t.Context(), &Transaction{DB: tx})
		one(ctx, task.Create{Spec: tasktest.Spec(name, due)})
		one(ctx, task.Cancel{Key: kept.Key})
		if _, err := s.Get(t.Context(), tasktest.Key(name)); !errors.Is(err, task.ErrNotFound) {
			t.Errorf("others see it before the commit: %v", err)
		}
		if _, err := s.Get(ctx, tasktest.Key(name)); err != nil {
			t.Errorf("the transaction does not see it: %v", err)
		}
		if commits {
			fatal.If(t, tx.Commit(t.Context()))
		} else {
			fatal.If(t, tx.Rollback(t.Context()))
		}
		_, err = s.Get(t.Context(), tasktest.Key(name))
		got, err2 := s.Get(t.Context(), kept.Key)
		if (err == nil) != commits || err2 != nil || (got.State == task.Cancelled) != commits {
			t.Errorf("commit %v: %v, %v", commits, err, got.State)
		}
		if commits {
			redistest.Until(t, "the owner finds it", func() bool {
				heads, err := store.LaneHeads(t.Context(), s, due)
				fatal.If(t, err)
				return len(heads) == 1
			})
		}
	}
}

// An open transaction that settles a task delays no extension of another lease, and the
// lease of the task itself is neither extended nor lost.
func TestASettlementInATransactionDelaysNoExtension(t *testing.T) {
	s := openNodes(t, migrated(t), "a")[0]
	now := task.CeilMillis(s.Now())
	names := []string{"settled", "extended"}
	var claims []task.Claim
	var extensions []task.Extension
	for _, name := range names {
		spec := tasktest.Spec(name, now)
		_, err := s.Transit(t.Context(), now, store.Changes([]task.Change{task.Create{Spec: spec}}))
		fatal.If(t, err)
		claims = append(claims, task.Claim{Key: spec.Key, Lane: tasktest.Made(spec, now).Lane(), Token: task.Token(name), Until: now + 60_000})
		extensions = append(extensions, task.Extension{Key: spec.Key, Token: task.Token(name), Until: now + 90_000})
	}
	redistest.Until(t, "the tasks are claimed", func() bool {
		replies, err := s.Transit(t.Context(), task.FloorMillis(s.Now()), store.Claims(claims))
		fatal.If(t, err)
		return replies[0].Err == nil && replies[1].Err == nil
	})
	extend := func(ended error) {
		t.Helper()
		replies, err := s.Transit(t.Context(), now, store.Extensions(extensions))
		fatal.If(t, err)
		if !errors.Is(replies[0].Err, ended) || replies[1].Err != nil {
			t.Errorf("%v, %v; want %v", replies[0].Err, replies[1].Err, ended)
		}
	}
	for _, commits := range []bool{false, true} {
		tx, err := s.pool.Begin(t.Context())
		fatal.If(t, err)
		replies, err := s.Transit(Within(t.Context(), &Transaction{DB: tx}), now, store.Settlements([]task.Settlement{{Key: claims[0].Key, Token: "settled", Outcome: task.Outcome{Verdict: task.Success}}}))
		fatal.If(t, err)
		fatal.If(t, replies[0].Err)
		extend(task.ErrUnavailable)
		if commits {
			fatal.If(t, tx.Commit(t.Context()))
			extend(task.ErrStale)
		} else {
			fatal.If(t, tx.Rollback(t.Context()))
			extend(nil)
		}
	}
}

// A handler may settle its task in a transaction whose snapshot is older than the last
// extension of the lease. The lease that stays behind is removed after its end.
func TestASettlementAtRepeatableReadBearsAnExtension(t *testing.T) {
	s := opened(t).(*Store) //nolint:forcetypeassert // it has no other type
	defer func() { fatal.If(t, s.Close()) }()
	spec, now := tasktest.Spec("a", 1000), task.Millis(1000)
	step := func(ctx context.Context, list []store.Step) {
		t.Helper()
		replies, err := s.Transit(ctx, now, list)
		fatal.If(t, errors.Join(err, replies[0].Err))
	}
	leases := func() (n int) {
		fatal.If(t, s.pool.QueryRow(t.Context(), "SELECT count(*) FROM foliot.lease", s.schema).Scan(&n))
		return n
	}
	step(t.Context(), store.Changes([]task.Change{task.Create{Spec: spec}}))
	step(t.Context(), store.Claims([]task.Claim{tasktest.Claim(tasktest.Made(spec, now), "token", now+1000)}))
	tx, err := s.pool.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	fatal.If(t, err)
	_, err = tx.Exec(t.Context(), "SELECT 1") // takes the snapshot
	fatal.If(t, err)
	step(t.Context(), store.Extensions([]task.Extension{{Key: spec.Key, Token: "token", Until: now + 2000}}))
	step(Within(t.Context(), &Transaction{DB: tx}), store.Settlements([]task.Settlement{{Key: spec.Key, Token: "token", Outcome: task.Outcome{Verdict: task.Success}}}))
	fatal.If(t, tx.Commit(t.Context()))
	got, err := s.Get(t.Context(), spec.Key)
	if err != nil || got.State != task.Delivered || leases() != 1 {
		t.Errorf("it is %v with %d leases, %v", got.State, leases(), err)
	}
	_, err = s.Reap(t.Context(), now+2000, 10)
	if err != nil || leases() != 0 {
		t.Errorf("%d leases are left, %v", leases(), err)
	}
}

// News that many transactions have left while no node ran are counted in parts, because
// one statement for all of them could take longer than a statement may.
func TestManyNewsAreCountedInParts(t *testing.T) {
	s := openNodes(t, migrated(t), "a")[0]
	const rows = foldMost + 1
	_, err := s.pool.Exec(t.Context(), `INSERT INTO foliot.news (shard, node, news)
		SELECT n % 32, '', '[{"d": [{"Namespace": "default", "Queue": "q", "States": [0, 1, 0, 0, 0, 0, 0], "Bytes": 2}]}]' FROM generate_series(1, $1::int) n`, s.schema, rows)
	fatal.If(t, err)
	left := 0
	redistest.Until(t, "all news are counted", func() bool {
		counts, err := s.Counts(t.Context())
		fatal.If(t, err)
		if c := counts[task.QueueKey{Namespace: "default", Queue: "q"}]; c.States[task.Scheduled] != rows || c.Bytes != 2*rows {
			t.Fatalf("the counts are %+v", c)
		}
		fatal.If(t, s.pool.QueryRow(t.Context(), "SELECT count(*) FROM foliot.news", s.schema).Scan(&left))
		return left == 0
	})
}

// A user's transaction can lock a task for long. The claims of other tasks do not wait
// for that.
func TestAClaimDoesNotWaitForALockedTask(t *testing.T) {
	url := migrated(t)
	s := openNodes(t, url, "a")[0]
	due := task.CeilMillis(s.Now())
	replies, err := s.Transit(t.Context(), due, store.Changes([]task.Change{
		task.Create{Spec: tasktest.Spec("locked", due)}, task.Create{Spec: tasktest.Spec("free", due)},
	}))
	fatal.If(t, err)
	user, err := pgx.Connect(t.Context(), url)
	fatal.If(t, err)
	defer user.Close(t.Context())
	_, err = user.Exec(t.Context(), "BEGIN; SELECT FROM task WHERE key = 'default/locked' FOR UPDATE")
	fatal.If(t, err)
	redistest.Until(t, "the tasks are due", func() bool { return s.Now().UnixMilli() > int64(due) })
	var claims []task.Claim
	for _, r := range replies {
		fatal.If(t, r.Err)
		claims = append(claims, tasktest.Claim(r.Task, "token", due+60_000))
	}
	replies, err = s.Transit(t.Context(), due+1, store.Claims(claims))
	fatal.If(t, err)
	if !errors.Is(replies[0].Err, task.ErrLaneChanged) || replies[1].Err != nil {
		t.Errorf("the claim of the locked task ended with %v, that of the other one with %v", replies[0].Err, replies[1].Err)
	}
}

// The record of the first task of each lane in each shard is damaged. The other tasks of the
// lane are found.
func TestADamagedRecordHidesNoOtherOfItsLane(t *testing.T) {
	s := opened(t).(*Store) //nolint:forcetypeassert // it has no other type
	defer func() { fatal.If(t, s.Close()) }()
	var changes []task.Change
	for i := range 200 {
		changes = append(changes, task.Create{Spec: tasktest.Spec(fmt.Sprint("t", i), task.Millis(2000+i))})
	}
	_, err := s.Transit(t.Context(), 1000, store.Changes(changes))
	fatal.If(t, err)
	_, err = s.pool.Exec(t.Context(), `UPDATE foliot.task SET record = '\x01ff' WHERE key IN (SELECT DISTINCT ON (shard, lane) key FROM foliot.task ORDER BY shard, lane, look, key)`, s.schema)
	fatal.If(t, err)
	var want int
	fatal.If(t, s.pool.QueryRow(t.Context(), "SELECT count(*) FROM (SELECT FROM foliot.task GROUP BY shard, lane HAVING count(*) > 1) t", s.schema).Scan(&want))
	heads, err := s.heads(t.Context(), nil, math.MaxInt64)
	if err != nil || want == 0 || len(heads) != want {
		t.Errorf("%d heads, want %d: %v", len(heads), want, err)
	}
}

// A role that has lost a right is a reason why the node is not ready, until it has it again.
func TestALostRightIsAReasonNotToBeReady(t *testing.T) {
	server := pgtest.New(t)
	fatal.If(t, Migrate(t.Context(), server.URL()))
	psql := psql(t, server.URL())
	psql("CREATE ROLE node LOGIN; GRANT ALL ON ALL TABLES IN SCHEMA public TO node; GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO node")
	s, err := Open(t.Context(), Config{URL: strings.Replace(server.URL(), "postgres@", "node@", 1), Shared: store.Shared{Node: "a"}})
	fatal.If(t, err)
	defer func() { fatal.If(t, s.Close()) }()
	for right, use := range map[string]string{
		"SELECT ON news": "",
		"UPDATE ON task": "SELECT put('a', 'https://x.example/', delay => '1 h')",
	} {
		psql("REVOKE " + right + " FROM node")
		if use != "" {
			psql(use)
		}
		redistest.Until(t, "it is not ready without "+right, func() bool {
			err := s.Standing().Err
			return errors.Is(err, task.ErrUnavailable) && strings.Contains(err.Error(), "grant the user")
		})
		psql("GRANT " + right + " TO node")
		redistest.Until(t, "it is ready", func() bool { return s.Standing().Err == nil })
	}
}
