package postgres

import (
	"context"
	"time"

	"github.com/foliot/foliot/internal/servertest/pgtest"
	"github.com/foliot/foliot/internal/store/pgstore"
	"github.com/foliot/foliot/test/battery/harness"
)

// start starts a PostgreSQL with the tables of a store. It ends with the part.
func start(ctx context.Context, t *harness.Run, settings ...string) *pgtest.Server {
	s := harness.OK(pgtest.Start(settings...))
	t.Cleanup(s.Close)
	harness.Check(pgstore.Migrate(ctx, s.URL()))
	t.Options.ShardLease = 6 * time.Second // of these tables
	return s
}

// between returns a random time.
func between(t *harness.Run, least, most time.Duration) time.Duration {
	return least + time.Duration(t.Rand.Int64N(int64(most-least)))
}
