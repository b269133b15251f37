package contender

import (
	"context"
	"time"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/bench/redis/original"
)

func originalClient(redis string) (rueidis.Client, error) {
	return rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{redis}, DisableCache: true, ForceSingleClient: true})
}

func openOriginal(_ context.Context, redis string, _ *Environment) (*Running, error) {
	c, err := originalClient(redis)
	if err != nil {
		return nil, err
	}
	wheel := original.New(c, nil)
	create := func(ctx context.Context, w *Work, from, to int) error {
		for i := from; i < to; i++ {
			t := original.Task{Key: w.Name(i), URL: w.Target(i), Body: w.Body()}
			if err := wheel.Add(ctx, t, w.Due(i)); err != nil {
				return err
			}
		}
		return nil
	}
	return &Running{Create: create, Close: func() error { c.Close(); return nil }}, nil
}

// runOriginal starts the scanner that delivers. Its ticks come at whole
// seconds: later ticks would make calls late as well as early.
func runOriginal(c NodeConfig) error {
	client, err := originalClient(c.Redis)
	if err != nil {
		return err
	}
	caller := newHTTP()
	wheel := original.New(client, func(ctx context.Context, t original.Task) {
		_ = call(ctx, caller, t.URL, t.Body) // this design does not retry
	})
	go func() {
		time.Sleep(time.Until(time.Now().Truncate(time.Second).Add(time.Second)))
		wheel.Run(context.Background(), time.NewTicker(time.Second).C)
	}()
	return nil
}
