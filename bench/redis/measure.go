package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/foliot/foliot/bench/program"
	"github.com/foliot/foliot/bench/record"
	"github.com/foliot/foliot/bench/redis/contender"
	"github.com/foliot/foliot/bench/redis/receiver"
	"github.com/foliot/foliot/bench/redis/server"
	"github.com/foliot/foliot/bench/usage"
)

// tooLong is the time limit of a step.
const tooLong = 3 * time.Minute

// bench has the environment of all steps.
type bench struct {
	redis    *server.Server
	receiver *receiver.Receiver
	env      contender.Environment
}

// foliot is the binary to measure.
const foliot = "bin/foliot"

func measureAll(ctx context.Context, s *program.Settings, r *record.Run, out io.Writer) (err error) {
	if _, err := os.Stat(foliot); err != nil {
		return fmt.Errorf("find the binary to measure: %w: run make build", err)
	}
	b := &bench{env: contender.Environment{Foliot: foliot}}
	if b.redis, err = server.Start(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.redis.Close()) }()
	if b.receiver, err = receiver.New(); err != nil {
		return err
	}
	defer b.receiver.Close()
	r.Notes["redis"], r.Notes["arguments"] = b.redis.Version(ctx), strings.Join(server.Arguments, " ")
	return program.Steps(ctx, r, out, steps(s), tooLong, expected, b.step)
}

// step runs one measurement on an empty Redis.
func (b *bench) step(ctx context.Context, x *record.Job) (out record.Outcome, err error) {
	v := record.Values{}
	out.Values = v
	info, err := record.Find(contender.All, x.Contender)
	if err != nil {
		return out, err
	}
	if err := b.redis.Flush(ctx); err != nil {
		return out, err
	}
	empty, err := b.redis.Settled(ctx)
	if err != nil {
		return out, err
	}
	running, err := info.Open(ctx, b.redis.Addr, x.Part != create, &b.env)
	if err != nil {
		return out, err
	}
	if x.Part == idle {
		return out, errors.Join(b.idle(ctx, running, x, v), running.Close())
	}
	err = b.work(ctx, running, x, v)
	if err := errors.Join(err, running.Close()); err != nil {
		return out, err
	}
	full, err := b.redis.Settled(ctx)
	v[record.Bytes], v[fileBytes] = (full.Memory-empty.Memory)/float64(x.N), (full.File-empty.File)/float64(x.N)
	return out, err
}

// work creates the tasks of x. If they are due soon, it waits for their calls.
func (b *bench) work(ctx context.Context, running *contender.Running, x *record.Job, v record.Values) error {
	w := &contender.Work{N: x.N, Over: x.Over, Size: x.Size, URL: b.receiver.Expect(x.N), First: time.Now().Add(time.Hour).Truncate(time.Second)}
	if x.Part != create {
		w.First = time.Now().Add(lead).Truncate(time.Second)
	}
	before, err := b.spent(ctx, running)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := createAll(ctx, running, w, x); err != nil {
		return err
	}
	v[createS] = time.Since(began).Seconds()
	created, err := b.spent(ctx, running)
	if err != nil {
		return err
	}
	used := created.since(before, x.N)
	v[createUs], v[nodeUs], v[ownUs] = used.redis, used.node, used.own
	if x.Part == create {
		return nil
	}
	if time.Now().After(w.First) {
		return fmt.Errorf("creating the tasks took %.1f s, and some were due earlier", v[createS])
	}
	stop := sleeper()
	err = b.receiver.Wait(ctx, w.First.Add(w.Over+tail+time.Duration(w.N)*time.Second/500))
	if v[sleepMs] = stop(); err != nil {
		return err
	}
	called, err := b.spent(ctx, running)
	if err != nil {
		return err
	}
	b.receiver.Judge(w.Due, v)
	used = called.since(before, x.N)
	v[lifeUs], v[lifeNodeUs] = used.redis, used.node
	return nil
}

// sleeper sleeps for a millisecond again and again. stop ends it, and returns
// the p99 of its lateness in milliseconds.
func sleeper() (stop func() float64) {
	var late []float64
	ended, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-ended:
				return
			default:
			}
			began := time.Now()
			time.Sleep(time.Millisecond)
			late = append(late, micros(time.Since(began)-time.Millisecond)/1000)
		}
	}()
	return func() float64 {
		close(ended)
		<-done
		slices.Sort(late)
		if len(late) == 0 {
			return 0
		}
		return late[len(late)*99/100]
	}
}

// idle measures a contender without tasks.
func (b *bench) idle(ctx context.Context, running *contender.Running, x *record.Job, v record.Values) error {
	if err := pause(ctx, time.Second); err != nil { // until work that is done once at the start has ended
		return err
	}
	before, err := b.spent(ctx, running)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := pause(ctx, x.Over); err != nil {
		return err
	}
	after, err := b.spent(ctx, running)
	used := after.since(before, 1000) // divides by 1000: milliseconds
	seconds := time.Since(began).Seconds()
	v[idleRedis], v[idleNode] = used.redis/seconds, used.node/seconds
	return err
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

// createAll creates all tasks as fast as the contender can.
func createAll(ctx context.Context, running *contender.Running, w *contender.Work, x *record.Job) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var all sync.WaitGroup
	for range x.Callers {
		all.Go(func() {
			for ctx.Err() == nil {
				from := int(next.Add(int64(x.Each))) - x.Each
				if from >= w.N {
					return
				}
				if err := running.Create(ctx, w, from, min(from+x.Each, w.N)); err != nil {
					cancel(err)
				}
			}
		})
	}
	all.Wait()
	return context.Cause(ctx)
}

// spent has processor times in microseconds.
type spent struct{ redis, node, own float64 }

func (b *bench) spent(ctx context.Context, running *contender.Running) (spent, error) {
	u, err := b.redis.Usage(ctx)
	if err != nil {
		return spent{}, err
	}
	return spent{micros(u.CPU), micros(server.Processor(running.PID)), micros(usage.CPU())}, nil
}

// since returns the time spent since before, divided by n.
func (s spent) since(before spent, n int) spent {
	return spent{(s.redis - before.redis) / float64(n), (s.node - before.node) / float64(n), (s.own - before.own) / float64(n)}
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
