// Package postgres keeps the tasks of package foliot in PostgreSQL 14 or newer, where
// a task commits with the rows of the program.
//
//	store, err := postgres.Parse("postgres://localhost/shop?search_path=foliot")
//	...
//	node, err := foliot.Open(ctx, store, mux, foliot.Options{})
//	...
//	tx, err := pool.Begin(ctx)
//	s := postgres.Tx(node, tx)
//	closeOrder.In(ctx, s, "close-"+id, 30*time.Minute, Order{ID: id})
//	s.Cancel(ctx, "remind-"+id) // both commit, or do not, with the rows
//	tx.Commit(ctx)
//
// In a handler, Complete ends the task with the rows that the handler writes.
//
// The command `foliot postgres migrate` makes the tables, in a schema of their own.
// Each process that calls Node.Run owns a part of the tasks, and runs only those: see
// package foliot/redis. The command `foliot serve` only sends requests, so it must not
// use the same schema.
package postgres

import (
	"cmp"
	"slices"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/foliot/foliot"
	"github.com/foliot/foliot/internal/engine"
	"github.com/foliot/foliot/internal/engine/postgres"
	"github.com/foliot/foliot/internal/store/pgstore"
)

// Parse returns the store at a URL, or at a connection string of libpq. The schema is
// the first one of search_path. The parameter durability is the level of each change,
// async, default or strict; docs/postgres.md says what each level survives. In a
// transaction of the program, its COMMIT decides.
func Parse(url string) (foliot.Store, error) {
	if _, err := pgstore.Parse(url); err != nil {
		return foliot.Store{}, err
	}
	m := postgres.Embedded()
	m.Config.URL = url
	return engine.NewStore(m).(foliot.Store), nil
}

// Use returns a store in the database of a pool, where `foliot postgres migrate` has
// made the tables. They are in the schema that is passed, or else in the first one of
// the search_path in the pool's URL, or else in the schema foliot. Foliot takes the settings of
// the pool, such as its BeforeConnect, and makes up to eleven connections of its own: five
// for reads and leases, five for commits, which may wait for a standby, and one for
// messages. So Foliot and the program never wait for each other's connections. The
// program closes its pool.
func Use(pool *pgxpool.Pool, schema ...string) foliot.Store {
	m := postgres.Embedded()
	m.Config.Pool = pool.Config()
	m.Config.Schema = cmp.Or(append(slices.Clip(schema), m.Config.Pool.ConnConfig.RuntimeParams["search_path"], "foliot")...)
	return engine.NewStore(m).(foliot.Store)
}
