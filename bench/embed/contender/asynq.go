package contender

import (
	"context"
	"encoding/json"
	"time"

	"github.com/hibiken/asynq"
)

func openAsynq(_ context.Context, s Stores, h Handle) (*Running, error) {
	return startAsynq(s, asynq.Config{}, h)
}

func openAsynqFast(_ context.Context, s Stores, h Handle) (*Running, error) {
	return startAsynq(s, asynq.Config{DelayedTaskCheckInterval: 100 * time.Millisecond, TaskCheckInterval: 10 * time.Millisecond}, h)
}

func startAsynq(s Stores, config asynq.Config, h Handle) (*Running, error) {
	config.Concurrency, config.LogLevel = workers, asynq.FatalLevel
	at := asynq.RedisClientOpt{Addr: s.Redis, PoolSize: 64}
	client := asynq.NewClient(at)
	var server *asynq.Server
	r := &Running{Close: client.Close}
	r.Create = func(ctx context.Context, t Task) error {
		payload, err := json.Marshal(t.args())
		if err != nil {
			return err
		}
		_, err = client.EnqueueContext(ctx, asynq.NewTask(args{}.Kind(), payload), asynq.TaskID(Name(t.I)), asynq.ProcessAt(t.Due))
		return err
	}
	r.Start = func(context.Context) error {
		server = asynq.NewServer(at, config)
		return server.Start(asynq.HandlerFunc(func(ctx context.Context, t *asynq.Task) error {
			var a args
			if err := json.Unmarshal(t.Payload(), &a); err != nil {
				return err
			}
			return h(ctx, a.task())
		}))
	}
	r.Stop = func() error {
		if server != nil {
			server.Shutdown()
		}
		return nil
	}
	return r, nil
}
