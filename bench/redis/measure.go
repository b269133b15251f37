package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/foliot/foliot/bench/program"
	"github.com/foliot/foliot/bench/redis/contender"
	"github.com/foliot/foliot/bench/redis/receiver"
	"github.com/foliot/foliot/bench/redis/report"
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

// measureAll runs the steps that the settings select. It stores failures in r.
// It returns an error only if it could not continue.
func measureAll(ctx context.Context, s *settings, r *report.Run, out io.Writer) (err error) {
	if _, err := os.Stat(s.foliot); err != nil {
		return fmt.Errorf("find the binary to measure: %w: run make build, or pass -foliot", err)
	}
	b := &bench{env: contender.Environment{Foliot: s.foliot}}
	if b.redis, err = server.Start(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.redis.Close()) }()
	if b.receiver, err = receiver.New(); err != nil {
		return err
	}
	defer b.receiver.Close()
	r.Redis, r.Settings = b.redis.Version(ctx), server.Arguments
	list := steps(s)
	progress := program.NewProgress(out, expectedOf(list))
	for i := range list {
		x := &list[i]
		progress.Begin(expected(x))
		progress.Say("[%d/%d] %s: %s", i+1, len(list), x.Contender, about(x))
		limited, cancel := context.WithTimeoutCause(ctx, tooLong, fmt.Errorf("it took longer than %v", tooLong))
		result, err := b.step(limited, x)
		cancel()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			result.Failed = err.Error()
			progress.Say("FAILED: %s", result.Failed)
		}
		r.Results = append(r.Results, result)
	}
	return nil
}

// step runs one measurement on an empty Redis.
func (b *bench) step(ctx context.Context, x *report.Step) (r report.Result, err error) {
	r.Step = *x
	info, err := contender.Find(x.Contender)
	if err != nil {
		return r, err
	}
	if err := b.redis.Flush(ctx); err != nil {
		return r, err
	}
	empty, err := b.redis.Settled(ctx)
	if err != nil {
		return r, err
	}
	running, err := info.Open(ctx, b.redis.Addr, x.Kind != report.Create, &b.env)
	if err != nil {
		return r, err
	}
	if x.Kind == report.Idle {
		return r, errors.Join(b.idle(ctx, running, &r), running.Close())
	}
	err = b.work(ctx, running, &r)
	if err := errors.Join(err, running.Close()); err != nil {
		return r, err
	}
	full, err := b.redis.Settled(ctx)
	r.Bytes, r.File = (full.Memory-empty.Memory)/float64(x.N), (full.File-empty.File)/float64(x.N)
	return r, err
}

// work creates the tasks of r. If they are due soon, it waits for their calls.
func (b *bench) work(ctx context.Context, running *contender.Running, r *report.Result) error {
	w := &contender.Work{N: r.N, Over: r.Over, Size: r.Size, URL: b.receiver.Expect(r.N), First: time.Now().Add(time.Hour).Truncate(time.Second)}
	if r.Kind != report.Create {
		w.First = time.Now().Add(lead).Truncate(time.Second)
	}
	before, err := b.spent(ctx, running)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := create(ctx, running, w, r); err != nil {
		return err
	}
	r.Seconds = time.Since(began).Seconds()
	created, err := b.spent(ctx, running)
	if err != nil {
		return err
	}
	used := created.since(before, r.N)
	r.Redis, r.Node, r.Own = used.redis, used.node, used.own
	if r.Kind == report.Create {
		return nil
	}
	if time.Now().After(w.First) {
		return fmt.Errorf("creating the tasks took %.1f s, and some were due earlier", r.Seconds)
	}
	stop := sleeper()
	err = b.receiver.Wait(ctx, w.First.Add(w.Over+tail+time.Duration(w.N)*time.Second/500))
	if r.Sleep = stop(); err != nil {
		return err
	}
	called, err := b.spent(ctx, running)
	if err != nil {
		return err
	}
	verdict := b.receiver.Judge(w.Due)
	used = called.since(before, r.N)
	r.Calls, r.Life, r.LifeNode = &verdict, used.redis, used.node
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
func (b *bench) idle(ctx context.Context, running *contender.Running, r *report.Result) error {
	if err := pause(ctx, time.Second); err != nil { // until work that is done once at the start has ended
		return err
	}
	before, err := b.spent(ctx, running)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := pause(ctx, r.Over); err != nil {
		return err
	}
	after, err := b.spent(ctx, running)
	used := after.since(before, 1000) // divides by 1000: milliseconds
	seconds := time.Since(began).Seconds()
	r.IdleRedis, r.IdleNode = used.redis/seconds, used.node/seconds
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

// create creates all tasks as fast as the contender can.
func create(ctx context.Context, running *contender.Running, w *contender.Work, x *report.Result) error {
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
	return spent{micros(u.CPU), micros(server.Processor(running.PID)), micros(usage.Now().CPU)}, nil
}

// since returns the time spent since before, divided by n.
func (s spent) since(before spent, n int) spent {
	return spent{(s.redis - before.redis) / float64(n), (s.node - before.node) / float64(n), (s.own - before.own) / float64(n)}
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
