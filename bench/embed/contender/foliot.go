package contender

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"path/filepath"

	"github.com/foliot/foliot"
	"github.com/foliot/foliot/dir"
	"github.com/foliot/foliot/internal/store/pgstore"
	"github.com/foliot/foliot/postgres"
	"github.com/foliot/foliot/redis"
)

// quiet returns a logger that drops all lines.
func quiet() *slog.Logger {
	return slog.New(slog.NewTextHandler(io.Discard, &slog.HandlerOptions{Level: slog.LevelError}))
}

func openFoliotDir(ctx context.Context, s Stores, h Handle) (*Running, error) {
	return openFoliot(ctx, dir.Store(filepath.Join(s.Dir, "foliot")), h)
}

func openFoliotRedis(ctx context.Context, s Stores, h Handle) (*Running, error) {
	st, err := redis.Parse("redis://" + s.Redis)
	if err != nil {
		return nil, err
	}
	return openFoliot(ctx, st, h)
}

func openFoliotPostgres(ctx context.Context, s Stores, h Handle) (*Running, error) {
	if err := pgstore.Migrate(ctx, s.Postgres); err != nil {
		return nil, err
	}
	st, err := postgres.Parse(s.Postgres)
	if err != nil {
		return nil, err
	}
	return openFoliot(ctx, st, h)
}

func openFoliot(ctx context.Context, st foliot.Store, h Handle) (*Running, error) {
	kind, mux := foliot.NewKind[args]("order"), new(foliot.Mux)
	kind.Handle(mux, func(ctx context.Context, t *foliot.Task[args]) error { return h(ctx, t.Args.task()) })
	node, err := foliot.Open(ctx, st, mux, foliot.Options{Concurrency: workers, Logger: quiet()})
	if err != nil {
		return nil, err
	}
	r := &Running{Close: node.Close}
	r.Create = func(ctx context.Context, t Task) error {
		_, err := kind.At(ctx, node, Name(t.I), t.Due, t.args())
		return err
	}
	r.Batch = func(ctx context.Context, list []Task) error {
		items := make([]foliot.Item, len(list))
		for i, t := range list {
			items[i] = kind.Item(Name(t.I), foliot.At(t.Due), t.args())
		}
		results, err := node.CreateMany(ctx, items)
		for _, r := range results {
			err = cmp.Or(err, r.Err)
		}
		return err
	}
	r.Start, r.Stop = running(node.Run)
	return r, nil
}

// running returns Start and Stop for a function that runs until its context
// ends.
func running(run func(context.Context) error) (start func(context.Context) error, stop func() error) {
	ended := make(chan error, 1)
	var cancel context.CancelFunc
	start = func(ctx context.Context) error {
		ctx, cancel = context.WithCancel(context.WithoutCancel(ctx))
		go func() { ended <- run(ctx) }()
		return nil
	}
	stop = func() error {
		if cancel == nil {
			return nil
		}
		cancel()
		return <-ended
	}
	return start, stop
}
