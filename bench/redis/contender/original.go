package contender

import (
	"context"
	"encoding/json"
	"net/http"
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
	wheel := original.New(c, nil) // it only adds
	create := func(ctx context.Context, w *Work, from, to int) error {
		for i := from; i < to; i++ {
			t := original.Task{Key: w.Name(i), URL: w.Target(i), Method: http.MethodPost, Body: json.RawMessage(w.Body())}
			if err := wheel.Add(ctx, t, w.Due(i)); err != nil {
				return err
			}
		}
		return nil
	}
	return &Running{Create: create, Close: func() error { c.Close(); return nil }}, nil
}

// runOriginal starts the scanner that delivers. Its ticks come at whole
// seconds. Later ticks would make calls less early, but those of the first
// second of a minute late.
func runOriginal(c NodeConfig) error {
	client, err := originalClient(c.Redis)
	if err != nil {
		return err
	}
	wheel := original.New(client, newHTTP())
	go func() {
		time.Sleep(time.Until(time.Now().Truncate(time.Second).Add(time.Second)))
		for range time.Tick(time.Second) {
			go wheel.Scan(context.Background(), time.Now())
		}
	}()
	return nil
}
