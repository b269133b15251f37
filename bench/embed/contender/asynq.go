package contender

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"time"

	"github.com/hibiken/asynq"
)

func openAsynq(_ context.Context, s Stores, h Handle) (*Running, error) {
	return startAsynq(s, asynq.Config{}, h)
}

func openAsynqFast(_ context.Context, s Stores, h Handle) (*Running, error) {
	return startAsynq(s, asynq.Config{DelayedTaskCheckInterval: 100 * time.Millisecond, TaskCheckInterval: 10 * time.Millisecond}, h)
}

const asynqQueue = "default"

func startAsynq(s Stores, config asynq.Config, h Handle) (*Running, error) {
	config.Concurrency, config.LogLevel = workers, asynq.FatalLevel
	at := asynq.RedisClientOpt{Addr: s.Redis, PoolSize: 64}
	client, inspector := asynq.NewClient(at), asynq.NewInspector(at)
	var server *asynq.Server
	r := &Running{Clues: timed(reflect.TypeFor[*asynq.Inspector](), reflect.TypeFor[string]())}
	r.Create = func(ctx context.Context, t Task) error {
		payload, err := json.Marshal(t.args())
		if err != nil {
			return err
		}
		_, err = client.EnqueueContext(ctx, asynq.NewTask(args{}.Kind(), payload), asynq.TaskID(Name(t.I)), asynq.ProcessAt(t.Due))
		if errors.Is(err, asynq.ErrTaskIDConflict) {
			return ErrExists
		}
		return err
	}
	// A task that runs or has ended cannot be deleted.
	r.Cancel = func(_ context.Context, i int) (bool, error) {
		return inspector.DeleteTask(asynqQueue, Name(i)) == nil, nil
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
	r.Close = func() error { return errors.Join(client.Close(), inspector.Close()) }
	return r, nil
}
