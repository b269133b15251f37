package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/foliot/foliot/bench/child"
	"github.com/foliot/foliot/bench/embed/contender"
	"github.com/foliot/foliot/bench/embed/server"
	"github.com/foliot/foliot/bench/embed/trial"
	"github.com/foliot/foliot/bench/page"
	"github.com/foliot/foliot/bench/program"
	"github.com/foliot/foliot/bench/record"
	redisserver "github.com/foliot/foliot/bench/redis/server"
)

// tooLong is the time limit of a process.
const tooLong = 4 * time.Minute

// bench has the servers of all steps. A server is nil if it is not installed, or
// if no contender needs it.
type bench struct {
	redis    *redisserver.Server
	postgres *server.Postgres
	missing  map[string]string // from a store to the reason why it is missing
}

// open starts the servers that the contenders need.
func open(ctx context.Context, names []string) (*bench, error) {
	b := &bench{missing: map[string]string{}}
	needs := map[string]bool{}
	for _, name := range names {
		info, err := record.Find(contender.All, name)
		if err != nil {
			return nil, err
		}
		needs[info.Store] = true
	}
	if needs[contender.Redis] {
		if _, err := exec.LookPath("redis-server"); err != nil {
			b.missing[contender.Redis] = "redis-server is not installed (Debian: apt-get install redis-server)"
		} else if b.redis, err = redisserver.Start(); err != nil {
			return nil, err
		}
	}
	if needs[contender.Postgres] {
		var err error
		b.postgres, err = server.StartPostgres(ctx)
		switch {
		case errors.Is(err, server.ErrMissing):
			b.missing[contender.Postgres] = err.Error()
		case err != nil:
			return nil, errors.Join(err, b.Close())
		}
	}
	return b, nil
}

// Close ends the servers.
func (b *bench) Close() (err error) {
	if b.redis != nil {
		err = b.redis.Close()
	}
	if b.postgres != nil {
		err = errors.Join(err, b.postgres.Close())
	}
	return err
}

func measureAll(ctx context.Context, s *program.Settings, r *record.Run, out io.Writer) (err error) {
	b, err := open(ctx, s.Contenders)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	notRun := b.describe(ctx, s, r)
	jobs := slices.DeleteFunc(steps(s), func(x record.Job) bool { return slices.Contains(notRun, x.Contender) })
	return program.Steps(ctx, r, out, jobs, 3*tooLong, expected, b.step)
}

// describe notes the servers, and the contenders that cannot run, which it
// returns.
func (b *bench) describe(ctx context.Context, s *program.Settings, r *record.Run) (notRun []string) {
	r.Notes["sync"] = page.Figure(syncTime()) + " ms"
	for _, name := range s.Contenders {
		info, _ := record.Find(contender.All, name) // the names are checked
		if why := b.missing[info.Store]; why != "" {
			notRun = append(notRun, name)
			r.Notes["not run"] += fmt.Sprintf("- Not run: %s, because %s\n", name, why)
		}
	}
	if b.redis != nil {
		r.Notes["redis"], r.Notes["redis arguments"] = b.redis.Version(ctx), strings.Join(redisserver.Arguments, " ")
	}
	if b.postgres != nil {
		r.Notes["postgres"], r.Notes["postgres settings"], _ = strings.Cut(b.postgres.Version(ctx), ", ")
	}
	return notRun
}

// step runs one measurement on an empty store, and removes its directory.
func (b *bench) step(ctx context.Context, x *record.Job) (record.Outcome, error) {
	info, err := record.Find(contender.All, x.Contender)
	if err != nil {
		return record.Outcome{}, err
	}
	dir, err := os.MkdirTemp("", "foliot-bench-embed-")
	if err != nil {
		return record.Outcome{}, fmt.Errorf("make the directory: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	stores, err := b.empty(ctx, info, dir)
	if err != nil {
		return record.Outcome{}, err
	}
	order := trial.Order{Job: *x, Stores: stores}
	switch x.Part {
	case trial.Standing:
		return b.standing(ctx, info, &order)
	case trial.Plant, trial.Hold:
		return b.killed(ctx, info, &order)
	}
	return inProcess(ctx, &order, (*child.Process).End)
}

// empty empties the store of a contender, and returns its address. dir is an
// empty directory.
func (b *bench) empty(ctx context.Context, info *contender.Info, dir string) (s contender.Stores, err error) {
	switch info.Store {
	case contender.Directory:
		s.Dir = dir
	case contender.Redis:
		if err = b.redis.Flush(ctx); err == nil {
			s.Redis = b.redis.Addr
			s.PID, err = b.redis.PID(ctx)
		}
	case contender.Postgres:
		s.PID = b.postgres.PID()
		s.Postgres, err = b.postgres.Empty(ctx)
	}
	return s, err
}

// inProcess runs an order in a new process, and ends the process with end.
func inProcess(ctx context.Context, order *trial.Order, end func(*child.Process) error) (out record.Outcome, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, tooLong, fmt.Errorf("it took longer than %v", tooLong))
	defer cancel()
	p, err := child.Start(trial.Role)
	if err != nil {
		return out, err
	}
	err = p.Call(ctx, "Run", order, &out)
	return out, errors.Join(err, end(p))
}

// kill ends a process like kill -9.
func kill(p *child.Process) error {
	err := syscall.Kill(p.PID(), syscall.SIGKILL)
	_ = p.End() // the process is dead, so End only waits for it
	return err
}

// killed kills the process of an order, and its server, and lets a new process
// run the tasks.
func (b *bench) killed(ctx context.Context, info *contender.Info, order *trial.Order) (record.Outcome, error) {
	if out, err := inProcess(ctx, order, kill); err != nil {
		return out, err
	}
	if order.Part == trial.Plant { // after trial.Hold a crash of the server would add to the measured delay
		if err := b.crash(ctx, info); err != nil {
			return record.Outcome{}, err
		}
	}
	order.Part = trial.Reap
	return inProcess(ctx, order, (*child.Process).End)
}

func (b *bench) crash(ctx context.Context, info *contender.Info) error {
	switch info.Store {
	case contender.Redis:
		return b.redis.Crash()
	case contender.Postgres:
		return b.postgres.Crash(ctx)
	}
	return nil
}

// standing measures the size of tasks that wait.
func (b *bench) standing(ctx context.Context, info *contender.Info, order *trial.Order) (out record.Outcome, err error) {
	var before redisserver.Usage
	if info.Store == contender.Redis {
		if before, err = b.redis.Settled(ctx); err != nil {
			return out, err
		}
	}
	if out, err = inProcess(ctx, order, (*child.Process).End); err != nil {
		return out, err
	}
	var bytes float64
	switch info.Store {
	case contender.Redis:
		var after redisserver.Usage
		after, err = b.redis.Settled(ctx)
		bytes = after.Memory - before.Memory
		out.Values[trial.File] = (after.File - before.File) / float64(order.N)
	case contender.Postgres:
		bytes, err = b.postgres.Size(ctx)
	case contender.Directory:
		var logs float64
		bytes, logs, err = onDisk(order.Stores.Dir)
		out.Values[trial.LogMB] = logs / 1e6
	}
	out.Values[trial.Store] = bytes / float64(order.N)
	return out, err
}

// onDisk returns the bytes of the blocks of all files in a directory. It counts
// the write-ahead logs apart, because they do not grow with the number of tasks.
func onDisk(dir string) (data, logs float64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		s, ok := info.Sys().(*syscall.Stat_t)
		switch name := d.Name(); {
		case !ok:
		case strings.HasSuffix(name, ".log"), strings.HasSuffix(name, "-wal"): // of Pebble, of SQLite
			logs += float64(s.Blocks) * 512
		default:
			data += float64(s.Blocks) * 512
		}
		return nil
	})
	return data, logs, err
}

// syncTime returns the median time in milliseconds to append 4 KiB to a file in
// the directory of temporary files and to sync it.
func syncTime() float64 {
	f, err := os.CreateTemp("", "foliot-bench-sync-")
	if err != nil {
		return 0
	}
	defer func() { _ = errors.Join(f.Close(), os.Remove(f.Name())) }()
	var took []float64
	for block := make([]byte, 4096); len(took) < 200; {
		began := time.Now()
		if _, err := f.Write(block); err != nil || f.Sync() != nil {
			return 0
		}
		took = append(took, float64(time.Since(began))/float64(time.Millisecond))
	}
	slices.Sort(took)
	return took[len(took)/2]
}
