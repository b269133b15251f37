package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/foliot/foliot"
	foliotpg "github.com/foliot/foliot/postgres"
	"github.com/foliot/foliot/test/battery/harness/journal"
	"github.com/foliot/foliot/test/battery/harness/timing"
)

// The states of a task before a call, as foliot.cancel returns them.
const (
	none    = "none" // or it has ended
	waiting = "waiting"
	running = "running"
)

// client makes calls in transactions of a user, which has tables of its own.
type client struct {
	pool *pgxpool.Pool
	node *foliot.Node // nil: by functions of SQL
}

// openClient opens a client in Go or in SQL of the store in the schema foliot.
func openClient(ctx context.Context, language, url string) (*client, error) {
	pool, err := pgxpool.New(ctx, url)
	c := &client{pool: pool}
	if err != nil || language == sqlLanguage {
		return c, err
	}
	st, err := foliotpg.Parse(inSchema(url))
	if err == nil {
		c.node, err = foliot.Open(ctx, st, new(foliot.Mux), foliot.Options{Logger: slog.New(slog.DiscardHandler)})
	}
	return c, err
}

func (c *client) close() error {
	c.pool.Close()
	if c.node == nil {
		return nil
	}
	return c.node.Close()
}

// The languages.
const goLanguage, sqlLanguage = "Go", "SQL"

func inSchema(url string) string { return url + "&search_path=foliot" }

// cancel cancels a task, and returns its state before.
func (c *client) cancel(ctx context.Context, tx pgx.Tx, name string) (state string, err error) {
	if c.node == nil {
		err = tx.QueryRow(ctx, "SELECT foliot.cancel($1)", name).Scan(&state)
		return state, err
	}
	r, err := foliotpg.Tx(c.node, tx).Cancel(ctx, name)
	switch {
	case errors.Is(err, foliot.ErrNotFound), errors.Is(err, foliot.ErrEnded), err == nil && r.Already && !r.UnderWay:
		return none, nil
	case r.UnderWay:
		return running, err
	}
	return waiting, err
}

// put replaces a task, and returns the state of the old one.
func (c *client) put(ctx context.Context, tx pgx.Tx, name string, in time.Duration, url string) (state string, err error) {
	if c.node == nil {
		err = tx.QueryRow(ctx, "SELECT foliot.put($1, delay => $2, url => $3)", name, in, url).Scan(&state)
		return state, err
	}
	if state, err = c.cancel(ctx, tx, name); err == nil {
		_, err = foliot.HTTP.Put(ctx, foliotpg.Tx(c.node, tx), name, foliot.In(in), foliot.Request{URL: url})
	}
	return state, err
}

// move moves a task, if it waits.
func (c *client) move(ctx context.Context, tx pgx.Tx, name string, in time.Duration) error {
	if c.node == nil {
		_, err := tx.Exec(ctx, "SELECT foliot.move($1, delay => $2)", name, in)
		return err
	}
	_, err := foliotpg.Tx(c.node, tx).Move(ctx, name, foliot.In(in))
	if errors.Is(err, foliot.ErrNotFound) || errors.Is(err, foliot.ErrEnded) || errors.Is(err, foliot.ErrRunning) {
		return nil
	}
	return err
}

// Command is the hidden scenario with which the battery starts itself again as a client,
// which makes random transactions until it is killed or its input ends.
const Command = "postgres-client"

// outcome is a line of the client's log: the end of a transaction.
type outcome struct {
	State string `json:"state,omitempty"` // the SQLSTATE of its error, or the error
}

const users = 8 // in a client

// RunClient is the process. Its arguments are the language, the URL of the database, the
// URL that tasks call, and the file of the log.
func RunClient(ctx context.Context, args []string, in io.Reader) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	log, err := journal.Open(args[3])
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // it is not buffered
	c, err := openClient(ctx, args[0], args[1])
	if err != nil {
		return err
	}
	go func() {
		defer stop()
		_, _ = io.Copy(io.Discard, in)
	}()
	var all sync.WaitGroup
	for range users {
		all.Go(func() {
			for ctx.Err() == nil {
				err := c.transact(ctx, args[2])
				o := outcome{}
				if refused := (*pgconn.PgError)(nil); errors.As(err, &refused) {
					o.State = refused.Code
				} else if err != nil {
					o.State = err.Error()
				}
				if err = errors.Join(err, log.Append(o)); err != nil {
					timing.Pause(ctx, 50*time.Millisecond)
				}
			}
		})
	}
	all.Wait()
	return c.close()
}

const subjects = 50 // the names that all transactions are about

func subject(i int) string { return fmt.Sprint("subject-", i) }

// transact makes a random transaction about some names, and writes its changes to the
// table change. The user's own lock orders the transactions about a name, as the user of
// a shop locks the order.
func (c *client) transact(ctx context.Context, callback string) error {
	tx, err := c.pool.Begin(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }() // unless it has ended
	about := []int{rand.IntN(subjects), rand.IntN(subjects), rand.IntN(subjects)}[:1+rand.IntN(3)]
	slices.Sort(about) // two users that lock in different orders can be victims of each other
	for _, i := range about {
		if _, err := tx.Exec(ctx, "SELECT FROM subject WHERE name = $1 FOR UPDATE", subject(i)); err != nil {
			return err
		}
		version, state, in := int64(0), "", time.Duration(rand.IntN(2000))*time.Millisecond
		switch rand.IntN(4) {
		case 0:
			state, err = c.cancel(ctx, tx, subject(i))
		case 1:
			err = c.move(ctx, tx, subject(i), in)
		default:
			version = rand.Int64()
			state, err = c.put(ctx, tx, subject(i), in, fmt.Sprint(callback, version))
		}
		if err == nil && state != "" {
			_, err = tx.Exec(ctx, "INSERT INTO change (name, version, state) VALUES ($1, $2, $3)", subject(i), version, state)
		}
		if err != nil {
			return err
		}
	}
	if rand.IntN(4) == 0 {
		return tx.Rollback(ctx)
	}
	return tx.Commit(ctx)
}
