package contender

import (
	"context"
	"encoding/json"
	"time"

	"github.com/hibiken/asynq"
)

// kind is the type of all tasks.
const kind = "call"

// message is the payload of an asynq task.
type message struct {
	URL  string `json:"url"`
	Body string `json:"body"`
}

func openAsynq(_ context.Context, redis string, _ *Environment) (*Running, error) {
	c := asynq.NewClient(asynq.RedisClientOpt{Addr: redis, PoolSize: 64})
	create := func(ctx context.Context, w *Work, from, to int) error {
		for i := from; i < to; i++ {
			payload, err := json.Marshal(message{URL: w.Target(i), Body: w.Body()})
			if err != nil {
				return err
			}
			if _, err := c.EnqueueContext(ctx, asynq.NewTask(kind, payload), asynq.ProcessAt(w.Due(i))); err != nil {
				return err
			}
		}
		return nil
	}
	return &Running{Create: create, Close: c.Close}, nil
}

// runAsynq starts the server that delivers.
func runAsynq(c NodeConfig) error {
	config := asynq.Config{Concurrency: 256, LogLevel: asynq.ErrorLevel}
	if c.Contender == "asynq-fast" {
		config.DelayedTaskCheckInterval, config.TaskCheckInterval = 100*time.Millisecond, 10*time.Millisecond
	}
	caller := newHTTP()
	return asynq.NewServer(asynq.RedisClientOpt{Addr: c.Redis}, config).Start(asynq.HandlerFunc(func(ctx context.Context, t *asynq.Task) error {
		var m message
		if err := json.Unmarshal(t.Payload(), &m); err != nil {
			return err
		}
		return call(ctx, caller, m.URL, m.Body)
	}))
}
