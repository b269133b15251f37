package foliot_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot/foliot"
	"github.com/foliot/foliot/foliottest"
	"github.com/foliot/foliot/internal/fatal"
)

var (
	errRefused   = errors.New("the commit fails: the row is rolled back")
	errUniqueKey = errors.New("the row exists")
)

// table is a database with the rows of invoices. Its connections see committed
// rows only.
type table struct {
	mu      sync.Mutex
	rows    map[string]time.Time
	refused map[string]bool // the rows whose first commit has failed; nil: none fails

	slowInsert, slowRead time.Duration
}

func (b *table) Connect(context.Context) (driver.Conn, error) { return &tableConn{table: b}, nil }
func (b *table) Driver() driver.Driver                        { return nil }

type tableConn struct {
	*table
	id  string // inserted by the transaction
	due time.Time
}

func (c *tableConn) Prepare(string) (driver.Stmt, error) { return nil, driver.ErrSkip }
func (c *tableConn) Close() error                        { return nil }
func (c *tableConn) Begin() (driver.Tx, error)           { return c, nil }
func (c *tableConn) Rollback() error                     { c.id = ""; return nil }

func (c *tableConn) Commit() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.refused != nil && !c.refused[c.id] {
		c.refused[c.id] = true
		return errRefused
	}
	c.rows[c.id] = c.due
	return nil
}

func (c *tableConn) ExecContext(ctx context.Context, _ string, args []driver.NamedValue) (driver.Result, error) {
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(c.slowInsert):
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.id, c.due = args[0].Value.(string), args[1].Value.(time.Time)
	if _, exists := c.rows[c.id]; exists {
		return nil, errUniqueKey
	}
	return driver.RowsAffected(1), nil
}

func (c *tableConn) QueryContext(_ context.Context, _ string, args []driver.NamedValue) (driver.Rows, error) {
	time.Sleep(c.slowRead)
	c.mu.Lock()
	defer c.mu.Unlock()
	if due, ok := c.rows[args[0].Value.(string)]; ok {
		return &found{due: []time.Time{due}}, nil
	}
	return &found{}, nil
}

type found struct{ due []time.Time }

func (f *found) Columns() []string { return []string{"remind_at"} }
func (f *found) Close() error      { return nil }

func (f *found) Next(row []driver.Value) error {
	if len(f.due) == 0 {
		return io.EOF
	}
	row[0], f.due = f.due[0], nil
	return nil
}

// billing runs the example in a bubble. sent returns when the reminders of an
// invoice were sent.
func billing(t *testing.T, b *table, f func(t *testing.T, i *invoices, sent func(id string) []time.Time)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b.rows = map[string]time.Time{}
		db := sql.OpenDB(b)
		defer db.Close()
		var mu sync.Mutex
		sent := map[string][]time.Time{}
		i := &invoices{db: db, mail: func(_ context.Context, id string) error {
			mu.Lock()
			defer mu.Unlock()
			sent[id] = append(sent[id], time.Now())
			return nil
		}}
		mux := new(foliot.Mux)
		remindInvoice.Handle(mux, i.remind)
		i.timers = foliottest.StartWith(t, mux, foliot.Options{KeepFinished: 10 * time.Minute, Logger: slog.New(slog.DiscardHandler)})
		f(t, i, func(id string) []time.Time { mu.Lock(); defer mu.Unlock(); return slices.Clone(sent[id]) })
	})
}

// remindAfter is the delay of the reminders. An hour of fake time takes a tenth
// of a second.
const remindAfter = 20 * time.Minute

// An attempt is rolled back after it has set its timer, and repeated after a
// random time: before the timer is due, while its name is kept, and after that.
func TestATimerOfATransactionComesOnceAndInTimeAfterARollbackOfAnyAge(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	ages := []time.Duration{0, remindAfter - time.Millisecond, remindAfter, remindAfter + time.Millisecond, remindAfter + 10*time.Minute}
	for range 40 {
		ages = append(ages, time.Duration(random.Int64N(int64(3*remindAfter/2))))
	}
	b := &table{refused: map[string]bool{}}
	billing(t, b, func(t *testing.T, i *invoices, sent func(id string) []time.Time) {
		var all sync.WaitGroup
		for n, age := range ages {
			all.Go(func() {
				id := strconv.Itoa(n)
				if err := i.create(t.Context(), id, time.Now().Add(remindAfter)); !errors.Is(err, errRefused) {
					t.Error(err)
				}
				time.Sleep(age)
				due := time.Now().Add(remindAfter)
				if err := i.create(t.Context(), id, due); err != nil {
					t.Error(err)
				}
				time.Sleep(time.Minute)
				if err := i.create(t.Context(), id, due.Add(time.Minute)); !errors.Is(err, errUniqueKey) { // its reply was lost
					t.Error(err)
				}
				time.Sleep(2 * remindAfter)
				if got := sent(id); len(got) != 1 || got[0].Sub(due).Abs() > time.Second {
					t.Errorf("repeated after %v: the reminder is due at %v, and was sent at %v", age, due, got)
				}
			})
		}
		all.Wait()
	})
}

// The timer of the first attempt has begun when the second one is committed, and
// its handler reads the new row.
func TestATimerOfARollbackThatHasBegunDoesNotSendForTheNewRow(t *testing.T) {
	b := &table{refused: map[string]bool{}, slowRead: 10 * time.Second}
	billing(t, b, func(t *testing.T, i *invoices, sent func(id string) []time.Time) {
		if err := i.create(t.Context(), "7", time.Now().Add(remindAfter)); !errors.Is(err, errRefused) {
			t.Fatal(err)
		}
		pass(remindAfter + time.Second)
		due := time.Now().Add(remindAfter)
		fatal.If(t, i.create(t.Context(), "7", due))
		pass(2 * remindAfter)
		if got := sent("7"); len(got) != 1 || got[0].Sub(due).Abs() > time.Minute {
			t.Errorf("the reminder is due at %v, and was sent at %v", due, got)
		}
	})
}

// Two attempts run at the same time, and the call of the one that is rolled
// back reaches the store last.
func TestTheCallOfARollbackThatArrivesLateDoesNotMoveTheReminder(t *testing.T) {
	billing(t, new(table), func(t *testing.T, i *invoices, sent func(id string) []time.Time) {
		late := time.Now().Add(remindAfter)
		pass(remindAfter / 2)
		due := time.Now().Add(remindAfter)
		fatal.If(t, i.create(t.Context(), "7", due))
		fatal.If(t, errOf(remindInvoice.Put(t.Context(), i.timers, "remind-7", foliot.At(late), invoice{ID: "7"})))
		pass(2 * remindAfter)
		if got := sent("7"); len(got) != 1 || got[0].Sub(due).Abs() > time.Second {
			t.Errorf("the reminder is due at %v, and was sent at %v", due, got)
		}
	})
}

// A transaction cannot be committed after its timer may be due: the handler
// would find no row, and the reminder would be lost.
func TestATransactionEndsBeforeItsTimerIsDue(t *testing.T) {
	b := &table{slowInsert: 2 * remindAfter}
	billing(t, b, func(t *testing.T, i *invoices, _ func(id string) []time.Time) {
		if err := i.create(t.Context(), "7", time.Now().Add(remindAfter)); err == nil || len(b.rows) != 0 {
			t.Errorf("it was committed after its timer was due: %v, %v", b.rows, err)
		}
	})
}
