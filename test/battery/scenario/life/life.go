package life

import (
	"context"
	"net/http"
	"time"

	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/wire"
	"github.com/foliot/foliot/test/battery/harness"
	"github.com/foliot/foliot/test/battery/harness/receiver"
	"github.com/foliot/foliot/test/battery/harness/system"
	"github.com/foliot/foliot/test/battery/harness/timing"
	"github.com/foliot/foliot/test/battery/verify"
)

const (
	clients    = 64
	batchSize  = 100
	callers    = 16 // of batches
	steadyRate = 1000
	longAhead  = 24 * time.Hour // is not reached
)

// OnDirectory: the steps of a server with a data directory.
func OnDirectory(ctx context.Context, t *harness.Run) {
	run(ctx, &life{Environment: t.NewEnvironment(ctx)})
}

// OnRedis: the steps of a node on Redis. The file of Redis is not rewritten, so its
// growth is the bytes that were appended.
func OnRedis(ctx context.Context, t *harness.Run) {
	r := t.StartRedis("redis", "--auto-aof-rewrite-percentage", "0", "--maxmemory", "4gb")
	run(ctx, &life{Environment: t.NewEnvironment(ctx, "--store", "redis://"+r.Addr, "--node", "n1"), redis: r})
}

// life is the run of all steps on one server.
type life struct {
	*harness.Environment
	redis      *redistest.Server // nil means that the server has a directory
	fast       *receiver.Fast
	n          int           // tasks of a step
	recordSize int           // bytes of a waiting task, by the counts of its queue
	batchTime  time.Duration // that n tasks in batches took
	rows       []row
	waiting    []harness.Figure
}

func run(ctx context.Context, l *life) {
	l.n = l.Run.Options.Lives / batchSize * batchSize
	l.fast = l.StartFast("127.0.0.1:0")
	secret := harness.OK(l.Client.MakeSecret(ctx, wire.SecretInput{}))
	harness.OK(l.fast.Know(secret.Secret))
	l.create(ctx)
	delivered := l.deliver(ctx)
	l.baselines(ctx)
	l.StopWith(l.fast)
	for _, tasks := range delivered {
		l.Run.JudgeNumbered(tasks, l.fast.Path)
	}
	l.printTable()
}

// create measures the creates, and the memory and disk space of waiting tasks.
func (l *life) create(ctx context.Context) {
	memory, stored := l.held(ctx)
	l.measure(ctx, "create, one by one, 64 clients", l.n, l.fromClients(), func() {
		created := harness.OK(l.CreateSingly(ctx, clients, func(c, i int) (wire.TaskInput, bool) {
			number := i*clients + c
			return l.task(verify.Numbered{Prefix: "single"}, number), number < l.n
		}))
		l.Run.Must(created == l.n, "created one by one: %d of %d", created, l.n)
	})
	began := time.Now()
	l.measure(ctx, "create, in batches of 100", l.n, l.fromClients(), func() {
		l.createBatches(ctx, "waiting", verify.Numbered{Prefix: "batch", Count: l.n, Due: func(int) time.Time { return began.Add(longAhead) }})
	})
	l.batchTime = time.Since(began)
	l.recordSize = int(harness.OK(l.Client.GetQueue(ctx, "waiting")).Counts.Bytes) / (2 * l.n)
	busy, _ := l.held(ctx)
	l.waits("server's memory, after the creates", busy-memory)
	harness.Check(l.StopAll(20 * time.Second))
	l.StartAll(ctx)
	rested, full := l.held(ctx)
	l.waits("server's memory, after a restart", rested-memory)
	if l.redis == nil {
		l.waits("disk", full-stored)
	} else {
		l.waits("memory of Redis", full-stored)
	}
}

// held returns the server's memory and the size of its store: the files of a
// directory, or the memory of Redis.
func (l *life) held(ctx context.Context) (memory, stored int64) {
	memory, _, err := l.Server.Memory()
	harness.Check(err)
	if l.redis != nil {
		return memory, l.info(ctx, "used_memory")
	}
	return memory, system.BytesBelow(l.Server.Dir)
}

// waits keeps a size that all waiting tasks have together.
func (l *life) waits(name string, size int64) {
	f := harness.Figure{Name: name, Unit: "bytes each", Value: float64(size) / float64(2*l.n)}
	l.waiting = append(l.waiting, f)
	l.Run.Measured("waiting, "+f.Name, f.Unit, f.Value)
}

// deliver measures the deliveries, and the removal of the tasks that were due at once.
func (l *life) deliver(ctx context.Context) []verify.Numbered {
	// The removal must not begin before the other steps have ended.
	steady := verify.Numbered{Prefix: "steady", Count: l.n / 5}
	lead := 3*time.Second + 2*l.batchTime
	lasts := time.Duration(steady.Count) * time.Second / steadyRate
	keep := 2*lead + lasts + 10*time.Second + time.Duration(l.n)*time.Second/5000
	harness.Check(l.Client.Do(ctx, http.MethodPut, "/queues/burst", wire.QueueInput{KeepFinished: keep.Round(time.Second).String()}, nil))

	start := timing.DueIn(lead)
	burst := verify.Numbered{Prefix: "burst", Count: l.n, Due: func(int) time.Time { return start }}
	l.deliverAll(ctx, "deliver, all due at once", "burst", burst)
	took := time.Since(start)
	first := timing.DueIn(lead)
	steady.Due = func(i int) time.Time {
		return first.Add(time.Duration(i) * time.Second / steadyRate).Truncate(time.Millisecond)
	}
	l.deliverAll(ctx, "deliver, 1,000 a second", "steady", steady)

	removal := start.Add(keep - 500*time.Millisecond)
	l.Run.Must(time.Now().Before(removal), "the removal begins %s after the deliveries", verify.Millis(time.Until(removal)))
	harness.Until(ctx, removal)
	l.measure(ctx, "remove", l.n, l.toReceiver(), func() {
		l.awaitQueue(ctx, "burst", took+30*time.Second, func(c wire.Counts) bool { return c.Delivered == 0 })
	})
	return []verify.Numbered{burst, steady}
}

// deliverAll creates tasks in batches, and measures from shortly before the first is
// due until all are settled.
func (l *life) deliverAll(ctx context.Context, name, queue string, tasks verify.Numbered) {
	l.createBatches(ctx, queue, tasks)
	ahead := time.Until(tasks.Due(0))
	l.Run.Must(ahead > 0, "%s: created %s before the first is due", name, verify.Millis(ahead))
	earlier := harness.OK(l.fast.Counts()).Arrived
	harness.Until(ctx, tasks.Due(0).Add(-100*time.Millisecond))
	stop := harness.OK(l.Profile(queue))
	l.measure(ctx, name, tasks.Count, l.toReceiver(), func() {
		harness.Check(l.fast.Await(ctx, earlier+tasks.Count, tasks.Due(tasks.Count-1), 30*time.Second))
		l.awaitQueue(ctx, queue, 10*time.Second, func(c wire.Counts) bool { return c.Scheduled+c.Running == 0 })
	})
	harness.Check(stop(ctx))
}

// awaitQueue waits until the counts of a queue meet a condition.
func (l *life) awaitQueue(ctx context.Context, queue string, within time.Duration, met func(wire.Counts) bool) {
	ctx, stop := context.WithTimeout(ctx, within)
	defer stop()
	for {
		counts := harness.OK(l.Client.GetQueue(ctx, queue)).Counts
		if met(counts) {
			return
		}
		if !timing.Pause(ctx, 50*time.Millisecond) {
			harness.Fatalf("the counts of the queue %s are %+v after %v", queue, counts, within)
		}
	}
}

// createBatches creates tasks in batches of batchSize.
func (l *life) createBatches(ctx context.Context, queue string, tasks verify.Numbered) {
	harness.Check(timing.InParallel((tasks.Count+batchSize-1)/batchSize, callers, func(b int) error {
		var inputs []wire.TaskInput
		for i := b * batchSize; i < min((b+1)*batchSize, tasks.Count); i++ {
			in := l.task(tasks, i)
			in.At, in.Queue = wire.FormatTime(tasks.Due(i)), queue
			inputs = append(inputs, in)
		}
		return l.Client.CreateAll(ctx, inputs)
	}))
}

// task returns the i-th waiting task. It has a body of 100 bytes.
func (l *life) task(tasks verify.Numbered, i int) wire.TaskInput {
	in := harness.Task(tasks.Name(i), l.fast.URL(), timing.DueIn(longAhead))
	in.Queue, in.HTTP.Body = "waiting", harness.RandomString(i, 98) // and its quotes
	return in
}
