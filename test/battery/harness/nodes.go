package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/test/battery/harness/system"
)

// StartRedis starts a Redis server with its files below sub. It is killed when
// the part ends.
func (t *Run) StartRedis(sub string, args ...string) *redistest.Server {
	r, err := redistest.Start(t.Path(sub), args...)
	if r != nil {
		t.Cleanup(r.Kill)
	}
	if err != nil {
		Fatalf("start a Redis: %w", err)
	}
	return r
}

// StartProxiedRedis starts a Redis server and a proxy before it.
func (t *Run) StartProxiedRedis() *redistest.Proxy {
	p := OK(redistest.StartProxy(t.StartRedis("redis").Addr))
	t.Cleanup(p.Close)
	return p
}

// StartNodes starts count nodes on a Redis of their own, with their logs below sub.
func (t *Run) StartNodes(ctx context.Context, sub string, count int) *Environment {
	st := t.PrepareNodes(sub, count, "redis://"+t.StartRedis("redis").Addr)
	st.StartAll(ctx)
	return st
}

// PrepareNodes prepares count nodes, n1, n2 …, for the store at url, with their
// logs below sub. The options set the leases. No process runs yet.
func (t *Run) PrepareNodes(sub string, count int, url string, flags ...string) *Environment {
	st := t.OpenLogs(sub)
	st.defaults = Phases{Drain: time.Minute, Quiet: t.Options.TaskLease + 2*time.Second, Stop: 25 * time.Second}
	st.Endpoints = &Endpoints{}
	st.machine = system.WatchJitter(context.Background()) // close ends it
	for i := range count {
		name := fmt.Sprintf("n%d", i+1)
		dir := filepath.Join(st.Dir, name)
		Check(os.Mkdir(dir, 0o700))
		s := OK(NewServer(t.Options.Binary, dir, append([]string{
			"--store", url, "--node", name, "--shard-lease", t.Options.ShardLease.String(), "--lease", t.Options.TaskLease.String(),
		}, flags...)...))
		st.Servers = append(st.Servers, s)
		st.Endpoints.List = append(st.Endpoints.List, newEndpoint(s.URL()))
	}
	st.Client = st.Endpoints.List[0].Client
	return st
}

// StartAll starts all processes at once, and returns when all of them are ready.
func (e *Environment) StartAll(ctx context.Context) {
	Check(e.each(func(s *Server) error { return s.Run(ctx) }))
}

// StopAll stops all running processes as an operator does. Each must exit with
// 0.
func (e *Environment) StopAll(within time.Duration) error {
	return e.each(func(s *Server) error { return s.Stop(within) })
}

// each calls do for all servers at once, and waits.
func (e *Environment) each(do func(*Server) error) error {
	errs := make([]error, len(e.Servers))
	var all sync.WaitGroup
	for i, s := range e.Servers {
		all.Go(func() { errs[i] = do(s) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// endJitter ends the measurement of the machine. It may be called twice.
func (e *Environment) endJitter() {
	if e.machine != nil {
		e.Idle, e.machine = e.machine.End(), nil
	}
}
