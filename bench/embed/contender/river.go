package contender

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/riverqueue/river/rivertype"
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
	var ids sync.Map // from a task's number to its job: only an insert returns the id
	r := &Running{Close: closed, Clues: timed(reflect.TypeFor[*river.Client[T]](), reflect.TypeFor[int64]())}
	r.Create = func(ctx context.Context, t Task) error {
		inserted, err := client.Insert(ctx, t.args(), &river.InsertOpts{ScheduledAt: t.Due, UniqueOpts: unique(ctx)})
		switch {
		case err != nil:
			return err
		case inserted.UniqueSkippedAsDuplicate:
			return ErrExists
		}
		ids.Store(t.I, inserted.Job.ID)
		return nil
	}
	r.Batch = func(ctx context.Context, list []Task) error {
		jobs := make([]river.InsertManyParams, len(list))
		for i, t := range list {
			jobs[i] = river.InsertManyParams{Args: t.args(), InsertOpts: &river.InsertOpts{ScheduledAt: t.Due}}
		}
		_, err := client.InsertManyFast(ctx, jobs)
		return err
	}
	r.Cancel = func(ctx context.Context, i int) (bool, error) {
		id, found := ids.Load(i)
		if !found {
			return false, fmt.Errorf("the job of task %d is not known", i)
		}
		job, err := client.JobCancel(ctx, id.(int64))
		if err != nil {
			return false, err
		}
		return job.State == rivertype.JobStateCancelled, nil
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

// uniqueKey marks a context in which River checks that names are unique. The
// other libraries always check. River checks only on request, because the check
// costs an index entry. So its rates are measured without the check.
type uniqueKey struct{}

// Unique returns a context in which creates refuse a name that is taken.
func Unique(ctx context.Context) context.Context { return context.WithValue(ctx, uniqueKey{}, true) }

func unique(ctx context.Context) river.UniqueOpts {
	return river.UniqueOpts{ByArgs: ctx.Value(uniqueKey{}) != nil}
}
