package contender

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivermigrate"
	_ "modernc.org/sqlite" // the database/sql driver
)

// fast lets River fetch due jobs as often as it allows. With 5 and 20 ms, its
// handlers start later.
var fast = river.Config{FetchCooldown: river.FetchCooldownMin, FetchPollInterval: river.FetchPollIntervalMin}

func openRiverPostgres(ctx context.Context, s Stores, h Handle) (*Running, error) {
	return riverOnPostgres(ctx, s, river.Config{}, h)
}

func openRiverPostgresFast(ctx context.Context, s Stores, h Handle) (*Running, error) {
	return riverOnPostgres(ctx, s, fast, h)
}

func riverOnPostgres(ctx context.Context, s Stores, config river.Config, h Handle) (*Running, error) {
	pool, err := pgxpool.New(ctx, s.Postgres+"?pool_max_conns=32")
	if err != nil {
		return nil, err
	}
	return openRiver(ctx, riverpgxv5.New(pool), config, h, func() error { pool.Close(); return nil })
}

func openRiverSQLiteFast(ctx context.Context, s Stores, h Handle) (*Running, error) {
	path := filepath.Join(s.Dir, "river.sqlite3")
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=busy_timeout(5000)")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	return openRiver(ctx, riversqlite.New(db), fast, h, db.Close)
}

// worker calls h for each job.
type worker struct {
	river.WorkerDefaults[args]
	h Handle
}

// Work implements river.Worker.
func (w *worker) Work(ctx context.Context, job *river.Job[args]) error {
	return w.h(ctx, job.Args.task())
}

func openRiver[T any](ctx context.Context, driver riverdriver.Driver[T], config river.Config, h Handle, closed func() error) (*Running, error) {
	migrator, err := rivermigrate.New(driver, &rivermigrate.Config{Logger: quiet()})
	if err == nil {
		_, err = migrator.Migrate(ctx, rivermigrate.DirectionUp, nil)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("migrate: %w", err), closed())
	}
	config.Logger, config.Workers = quiet(), river.NewWorkers()
	config.Queues = map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: workers}}
	river.AddWorker(config.Workers, &worker{h: h})
	client, err := river.NewClient(driver, &config)
	if err != nil {
		return nil, errors.Join(err, closed())
	}
	r := &Running{Close: closed}
	// River checks that names are unique only on request, because the check
	// costs an index entry. So its rates are measured without it.
	r.Create = func(ctx context.Context, t Task) error {
		_, err := client.Insert(ctx, t.args(), &river.InsertOpts{ScheduledAt: t.Due})
		return err
	}
	r.Batch = func(ctx context.Context, list []Task) error {
		jobs := make([]river.InsertManyParams, len(list))
		for i, t := range list {
			jobs[i] = river.InsertManyParams{Args: t.args(), InsertOpts: &river.InsertOpts{ScheduledAt: t.Due}}
		}
		_, err := client.InsertManyFast(ctx, jobs)
		return err
	}
	started := false
	r.Start = func(ctx context.Context) error {
		started = true
		return client.Start(context.WithoutCancel(ctx))
	}
	r.Stop = func() error {
		if !started {
			return nil
		}
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		return client.Stop(ctx)
	}
	return r, nil
}
