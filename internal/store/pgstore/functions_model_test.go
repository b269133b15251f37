package pgstore

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/tasktest"
)

var modelTransactions = flag.Int("model.transactions", 0, "transactions of TestWhatIsCommittedIsDelivered; 0: 3,000, or 300 with -short")

// operationLog has the operations of committed transactions. A transaction adds an
// operation while it holds the lock of the name, so those of a name are in the order of
// their commits.
const operationLog = "CREATE TABLE operations (seq bigserial, name text, op text, state text, id text)"

// Programs change a few names by SQL functions and by Go, in transactions that commit,
// roll back or break off, while two nodes deliver. A model of each name says which of
// the committed puts are delivered. Programs take names in alphabetical order, so a
// deadlock could only be one with a node.
func TestWhatIsCommittedIsDelivered(t *testing.T) {
	const clients, names = 6, 50
	left := &atomic.Int64{}
	left.Store(int64(*modelTransactions))
	if *modelTransactions == 0 {
		left.Store(3000)
		if testing.Short() {
			left.Store(300)
		}
	}
	nodes := openNodes(t, migrated(t), "a", "b")
	f := &functions{nodes[0], client(t, nodes[0]), t}
	_, err := f.Exec(t.Context(), operationLog)
	fatal.If(t, err)
	d := &deliveries{of: map[string]int{}}
	ctx, stop := context.WithCancel(t.Context())
	var delivering, changing sync.WaitGroup
	for _, s := range nodes {
		delivering.Go(func() { d.run(ctx, s) })
	}
	failed := make([]error, clients)
	for i := range clients {
		changing.Go(func() {
			p := program{s: nodes[i%2], random: rand.New(rand.NewPCG(uint64(i), 49))}
			for failed[i] == nil && left.Add(-1) >= 0 {
				failed[i] = p.transact(t.Context(), names)
			}
			failed[i] = errors.Join(failed[i], p.hangUp())
		})
	}
	changing.Wait()
	fatal.If(t, errors.Join(failed...))
	redistest.Until(t, "all tasks have ended", func() bool {
		return f.number("SELECT count(*) FROM task WHERE lane IS NOT NULL OR pending IS NOT NULL") == 0
	})
	stop()
	delivering.Wait()

	rows, err := f.Query(t.Context(), "SELECT name, op, state, id FROM operations ORDER BY name, seq")
	fatal.If(t, err)
	all, err := pgx.CollectRows(rows, pgx.RowToStructByPos[committed])
	fatal.If(t, err)
	put := map[string]bool{}
	for i, o := range all {
		if o.Op == "put" {
			put[o.ID] = true
			least, most := expected(all[i+1:], o.Name)
			if n := d.of[o.ID]; n < least || n > most {
				t.Errorf("the put of %s was delivered %d times, want %d to %d; the operations on the name follow: %v", o.Name, n, least, most, all[i+1:min(i+4, len(all))])
			}
		}
	}
	for id, n := range d.of {
		if !put[id] {
			t.Errorf("a put without a commit was delivered %d times", n)
		}
	}
	f.checkCounts()
	t.Logf("%d committed operations, %d puts, %d delivered", len(all), len(put), len(d.of))
}

// committed is an operation of a committed transaction, and the state that it found.
type committed struct{ Name, Op, State, ID string }

// expected returns how often a put is delivered, by the operations that follow it.
func expected(next []committed, name string) (least, most int) {
	for _, o := range next {
		switch {
		case o.Name != name:
			return 1, 1
		case o.Op == "put", o.State == "running":
			return 0, 1
		case o.State == "none":
			return 1, 1
		case o.Op == "cancel": // it was waiting
			return 0, 0
		}
	}
	return 1, 1
}

// deliveries counts the deliveries of the nodes by the id of the task.
type deliveries struct {
	mu sync.Mutex // guards of
	of map[string]int
}

// run claims and settles the tasks of a node, until ctx ends.
func (d *deliveries) run(ctx context.Context, s *Store) {
	for pause(ctx, 2*time.Millisecond) {
		now := task.FloorMillis(s.Now())
		heads, err := store.LaneHeads(ctx, s, now)
		if err != nil {
			continue
		}
		var claims []task.Claim
		for _, h := range heads {
			found, err := s.Peek(ctx, []store.LaneRead{{Lane: h.Lane, Until: now, Limit: 100}})
			for _, entries := range found {
				for _, e := range entries {
					claims = append(claims, task.Claim{Key: e.Key(), Lane: e.Lane, Token: task.Token(fmt.Sprint(rand.Int64())), Until: now + 60_000})
				}
			}
			if err != nil {
				break
			}
		}
		replies, err := s.Transit(ctx, now, store.Claims(claims))
		if err != nil {
			continue
		}
		var ends []task.Settlement
		d.mu.Lock()
		for i, r := range replies {
			if r.Err == nil {
				d.of[r.Task.ID]++
				ends = append(ends, task.Settlement{Key: claims[i].Key, Token: claims[i].Token, Outcome: task.Outcome{Verdict: task.Success}})
			}
		}
		d.mu.Unlock()
		for len(ends) > 0 && ctx.Err() == nil {
			replies, err := s.Transit(ctx, task.FloorMillis(s.Now()), store.Settlements(ends))
			if err == nil { // transactions of programs lock tasks for a moment
				kept := ends[:0]
				for i, r := range replies {
					if errors.Is(r.Err, task.ErrUnavailable) {
						kept = append(kept, ends[i])
					}
				}
				ends = kept
			}
		}
	}
}

// program makes transactions.
type program struct {
	s      *Store
	random *rand.Rand
	c      *pgx.Conn
}

func (p *program) hangUp() error {
	if p.c == nil {
		return nil
	}
	c := p.c
	p.c = nil
	return c.Close(context.Background())
}

// transact makes a transaction of some operations.
func (p *program) transact(ctx context.Context, names int) (err error) {
	if p.c == nil {
		if p.c, err = pgx.Connect(ctx, p.s.config.URL); err != nil {
			return err
		}
	}
	level := pgx.ReadCommitted
	if p.random.IntN(4) == 0 {
		level = pgx.RepeatableRead
	}
	tx, err := p.c.BeginTx(ctx, pgx.TxOptions{IsoLevel: level})
	if err != nil {
		return err
	}
	var chosen []string
	for range 1 + p.random.IntN(4) {
		chosen = append(chosen, fmt.Sprintf("name-%02d", p.random.IntN(names)))
	}
	slices.Sort(chosen)
	for _, name := range chosen {
		if err := p.operate(ctx, tx, name); err != nil {
			_ = tx.Rollback(ctx)
			if code(err) == serialization { // of a transaction at REPEATABLE READ
				return nil
			}
			return err
		}
	}
	switch p.random.IntN(10) {
	case 0:
		return p.hangUp()
	case 1, 2:
		return tx.Rollback(ctx)
	}
	return tx.Commit(ctx)
}

// operate makes one operation, by SQL or by Go, and logs it.
func (p *program) operate(ctx context.Context, tx pgx.Tx, name string) error {
	o, delay := committed{Name: name, Op: []string{"put", "put", "cancel", "move", "touch"}[p.random.IntN(5)]}, p.random.IntN(300)
	if p.random.IntN(3) == 0 {
		if done, err := p.byGo(ctx, tx, &o, time.Duration(delay)*time.Millisecond); err != nil || !done {
			return err
		}
	} else {
		call, args, result := o.Op+"($1)", []any{name}, &o.State
		switch o.Op {
		case "put":
			call, result = "put($1, 'https://x.example/', delay => $2 * interval '1 ms')", &o.ID
			args = append(args, delay)
		case "move":
			call, args = "move($1, delay => $2 * interval '1 ms')", append(args, delay)
		}
		if err := tx.QueryRow(ctx, "SELECT "+call, args...).Scan(result); err != nil {
			return err
		}
	}
	_, err := tx.Exec(ctx, "INSERT INTO operations (name, op, state, id) VALUES ($1, $2, $3, $4)", o.Name, o.Op, o.State, o.ID)
	return err
}

// byGo makes an operation by Go, and reports whether it changed something.
func (p *program) byGo(ctx context.Context, tx pgx.Tx, o *committed, delay time.Duration) (done bool, err error) {
	now, key := task.CeilMillis(p.s.Latest()), tasktest.Key(o.Name)
	when := task.When{Relative: true, Delay: delay}
	var c task.Change = task.Touch{Key: key}
	switch o.Op {
	case "put":
		o.ID = task.NewID(now)
		c = task.Replace{Spec: tasktest.Spec(o.Name, now, func(s *task.Spec) { s.ID, s.When = o.ID, when })}
	case "cancel":
		c = task.Cancel{Key: key}
	case "move":
		c = task.Patch{Key: key, When: &when}
	}
	replies, err := p.s.Transit(Within(ctx, &Transaction{DB: tx}), now, store.Changes([]task.Change{c}))
	if err != nil || replies[0].Err != nil || replies[0].Already {
		return false, err
	}
	if o.State = "waiting"; replies[0].Effect == task.Accepted {
		o.State = "running"
	}
	return true, nil
}
