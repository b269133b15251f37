package pgstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/servertest"
	"github.com/foliot/foliot/internal/servertest/pgtest"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/sqltask"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/tasktest"
)

// An open transaction locks only the names that it changes. A request that changes one of
// them is refused with the age of the transaction, and the log names its connection.
func TestAnOpenTransactionLocksOnlyItsNames(t *testing.T) {
	j := servertest.NewJournal()
	s, err := Open(t.Context(), Config{URL: migrated(t), Shared: store.Shared{Node: "a", Logger: j.Logger()}})
	fatal.If(t, err)
	defer func() { fatal.If(t, s.Close()) }()
	due := task.CeilMillis(s.Now()) + 1_000_000
	create := func(name string) task.Change { return task.Create{Spec: tasktest.Spec(name, due)} }
	change := func(list ...task.Change) []store.Reply {
		t.Helper()
		replies, err := s.Transit(t.Context(), due-1_000_000, store.Changes(list))
		fatal.If(t, err)
		return replies
	}
	fatal.If(t, change(create("kept"))[0].Err)
	tx, err := s.pool.Begin(t.Context())
	fatal.If(t, err)
	replies, err := s.Transit(Within(t.Context(), &Transaction{DB: tx}), due-1_000_000, store.Changes([]task.Change{task.Cancel{Key: tasktest.Key("kept")}, create("new")}))
	fatal.If(t, errors.Join(err, replies[0].Err, replies[1].Err))

	list := []task.Change{task.Cancel{Key: tasktest.Key("kept")}, create("new")}
	for i := range 50 {
		list = append(list, create(fmt.Sprint("free-", i)))
	}
	for i, r := range change(list...) {
		var locked *task.LockedError
		switch {
		case i >= 2:
			fatal.If(t, r.Err)
		case !errors.As(r.Err, &locked) || locked.For < clientWaits || !errors.Is(r.Err, task.ErrUnavailable):
			t.Errorf("change %d: %v", i, r.Err)
		}
	}
	var pid int
	fatal.If(t, tx.QueryRow(t.Context(), "SELECT pg_backend_pid()").Scan(&pid))
	j.Await(t, fmt.Sprintf(`pid=%d user=postgres application=foliot`, pid))
	fatal.If(t, tx.Rollback(t.Context()))
	fatal.If(t, change(list[0])[0].Err)
}

func TestEndpointsNameTheServersAndTheAPIs(t *testing.T) {
	url := strings.Replace(strings.Replace(migrated(t), "host=", "host=localhost,", 1), "port=", "port=1,", 1)
	s, err := Open(t.Context(), Config{URL: url, Shared: store.Shared{Node: "a", Address: "10.0.0.1:7999"}})
	fatal.If(t, err)
	defer func() { fatal.If(t, s.Close()) }()
	redistest.Until(t, "the node knows itself", func() bool { return slices.Contains(s.Endpoints(), "10.0.0.1:7999") })
	if all := slices.Compact(s.Endpoints()); !slices.Equal(all, []string{"10.0.0.1:7999", "localhost:1"}) {
		t.Errorf("%v", all)
	}
}

// A prepared transaction holds its locks without a connection.
func TestAPreparedTransactionIsNamed(t *testing.T) {
	server := pgtest.New(t, "max_prepared_transactions=1")
	fatal.If(t, Migrate(t.Context(), server.URL()))
	s := openedAt(t, server.URL()).(*Store) //nolint:forcetypeassert // it has no other type
	defer func() { fatal.If(t, s.Close()) }()
	_, err := client(t, s).Exec(t.Context(), "BEGIN; SELECT put('a', 'https://x.example/', delay => '1 h'); PREPARE TRANSACTION 'left'")
	fatal.If(t, err)
	got, err := s.lockHolders(t.Context())
	if err != nil || len(got) != 1 || got[0].For <= 0 || got[0].User != "postgres" || got[0].Application != "the prepared transaction left" {
		t.Errorf("%+v, %v", got, err)
	}
}

// Creates of a name that an open transaction has put are written apart from those of other
// names, once it is known.
func TestALockedNameHoldsUpNoCreatesOfOthers(t *testing.T) {
	s := opened(t).(*Store) //nolint:forcetypeassert // it has no other type
	defer func() { fatal.If(t, s.Close()) }()
	var failed atomic.Int64
	write := s.together.Write
	s.together.Write = func(ctx context.Context, rows []sqltask.Row, c class) ([]ending, error) {
		endings, err := write(ctx, rows, c)
		if code(err) == lockTimeout {
			failed.Add(1)
		}
		return endings, err
	}
	const names = 5
	_, err := client(t, s).Exec(t.Context(), fmt.Sprintf("BEGIN; SELECT put('locked-' || i, 'https://x.example/', delay => '1 h') FROM generate_series(1, %d) i", names))
	fatal.If(t, err)
	create := func(round int) {
		var calls sync.WaitGroup
		for i := range names {
			for name, locked := range map[string]bool{fmt.Sprint("locked-", i+1): true, fmt.Sprint("free-", round, "-", i): false} {
				calls.Go(func() {
					err := create(t.Context(), s, 1000, name, 1_000_000)
					if err != nil && !locked || errors.As(err, new(*task.LockedError)) != locked {
						t.Errorf("%s: %v", name, err)
					}
				})
			}
		}
		calls.Wait()
	}
	create(0)
	before := failed.Load()
	create(1)
	if n := failed.Load(); before == 0 || n > before {
		t.Errorf("%d transactions met a locked name, then %d", before, n-before)
	}
}

// A fire of a locked schedule waits once, and an operation of a locked task is left to the
// next try, because both are written with those of others.
func TestLockedTasksHoldUpNoOthersOfTheirBatch(t *testing.T) {
	m := &medium{Store: &Store{}}
	locked := func(st *step) bool { return errors.As(m.locked(t.Context(), st), new(*task.LockedError)) }
	fire := func() *step { return &step{Step: store.Step{Key: tasktest.Key("a"), Kind: store.Fire}} }
	first := fire()
	if locked(first) {
		t.Error("a fire does not wait")
	}
	first.Extra.locked = time.Now().Add(-clientWaits)
	if !locked(first) || !locked(fire()) {
		t.Error("a fire still waits")
	}
	if !locked(&step{Step: store.Step{Kind: store.Settlement, Transition: &sqltask.Applying{}}}) {
		t.Error("an operation waits")
	}
}
