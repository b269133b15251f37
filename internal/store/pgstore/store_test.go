package pgstore

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/memstore"
	"github.com/foliot/foliot/internal/store/storetest"
	"github.com/foliot/foliot/internal/task"
)

var schemas atomic.Int64

// opened returns a store in an empty schema.
func opened(t *testing.T) store.Store {
	t.Helper()
	base := os.Getenv("PGTEST")
	if base == "" {
		t.Skip("no PostgreSQL")
	}
	name := fmt.Sprintf("s%d_%d", os.Getpid(), schemas.Add(1))
	c, err := pgx.Connect(t.Context(), base)
	fatal.If(t, err)
	_, err = c.Exec(t.Context(), "CREATE SCHEMA "+name)
	fatal.If(t, err)
	t.Cleanup(func() {
		_, _ = c.Exec(context.Background(), "DROP SCHEMA "+name+" CASCADE")
		c.Close(context.Background())
	})
	url := base + "&search_path=" + name
	fatal.If(t, Migrate(t.Context(), url))
	s, err := Open(t.Context(), Config{URL: url, Policy: storetest.Policy, AuditKeep: storetest.AuditKeep, CallersClock: true})
	fatal.If(t, err)
	return s
}

func TestKeepsTheContractOfStores(t *testing.T) { storetest.Run(t, opened) }

func TestStoreEqualsTheReference(t *testing.T) {
	storetest.Differential(t, storetest.Subject{
		Open: opened, OrderOfRecords: true, Scripts: 5,
		Reference: func(now task.Millis, c storetest.Contents) store.Store {
			return memstore.Restore(memstore.Config{Policy: storetest.Policy, AuditKeep: storetest.AuditKeep}, now, memstore.Contents(c))
		},
	})
}
