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
	"github.com/foliot/foliot/test/battery/harness/timing"
	"github.com/foliot/foliot/test/battery/verify"
)

// Nodes are foliot processes that share a Redis, with the receiver and the logs of
// an environment. Close ends all of them.
type Nodes struct {
	*Environment // without server and client
	Servers      []*Server
	Endpoints    *Endpoints
	after        []func() // to be called when the nodes have ended

	machine *system.Jitter  // while they run; nil: they were judged
	Idle    []time.Duration // how late this machine woke it; ascending
}

// StartRedis starts a Redis server for a run; end kills it.
func (t *Run) StartRedis(args ...string) (r *redistest.Server, end func(), err error) {
	r, err = redistest.Start(t.Path("redis"), args...)
	end = func() {}
	if r != nil {
		end = r.Kill
	}
	if err != nil {
		end()
		return nil, nil, fmt.Errorf("start a Redis: %w", err)
	}
	return r, end, nil
}

// StartProxiedRedis is redis behind a proxy, which ends with it.
func (t *Run) StartProxiedRedis() (p *redistest.Proxy, end func(), err error) {
	r, kill, err := t.StartRedis()
	if err != nil {
		return nil, nil, err
	}
	if p, err = redistest.StartProxy(r.Addr); err != nil {
		kill()
		return nil, nil, err
	}
	return p, func() { p.Close(); kill() }, nil
}

// StartNodes starts count nodes on a Redis of their own, with their logs below sub.
func (t *Run) StartNodes(ctx context.Context, sub string, count int) (*Nodes, error) {
	r, end, err := t.StartRedis()
	if err != nil {
		return nil, err
	}
	n, err := t.PrepareNodes(sub, count, "redis://"+r.Addr)
	if err != nil {
		end()
		return nil, err
	}
	n.after = append(n.after, end)
	if err := n.StartAll(ctx); err != nil {
		n.Close()
		return nil, err
	}
	return n, nil
}

// PrepareNodes prepares count nodes, n1, n2 …, for the store at url, with their logs
// below sub. The leases are the options'. No process runs yet.
func (t *Run) PrepareNodes(sub string, count int, url string, flags ...string) (*Nodes, error) {
	st, err := t.OpenLogs(sub)
	if err != nil {
		return nil, err
	}
	n := &Nodes{Environment: st, Endpoints: &Endpoints{}, machine: system.WatchJitter(context.Background())} // Close ends it
	for i := range count {
		name := fmt.Sprintf("n%d", i+1)
		dir := filepath.Join(st.Dir, name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			n.Close()
			return nil, err
		}
		s, err := NewServer(t.Options.Binary, dir, append([]string{
			"--store", url, "--node", name, "--shard-lease", t.Options.ShardLease.String(), "--lease", t.Options.TaskLease.String(),
		}, flags...)...)
		if err != nil {
			n.Close()
			return nil, err
		}
		n.Servers = append(n.Servers, s)
		n.Endpoints.List = append(n.Endpoints.List, newEndpoint(s.URL()))
	}
	return n, nil
}

// StartAll starts all processes at once, and returns when all of them are ready.
func (n *Nodes) StartAll(ctx context.Context) error {
	return n.each(func(s *Server) error { return s.Run(ctx) })
}

// StopAll stops all processes that run, as an operator does; each must exit with 0.
func (n *Nodes) StopAll(within time.Duration) error {
	return n.each(func(s *Server) error { return s.Stop(within) })
}

// each does something to all at once, and waits.
func (n *Nodes) each(do func(*Server) error) error {
	errs := make([]error, len(n.Servers))
	var all sync.WaitGroup
	for i, s := range n.Servers {
		all.Go(func() { errs[i] = do(s) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// ConcludeUnder concludes a load that goes on while do does.
func (n *Nodes) ConcludeUnder(ctx context.Context, load *Load, do func() error) (verify.Verdict, error) {
	if err := load.During(ctx, do); err != nil {
		return verify.Verdict{}, err
	}
	return n.Conclude(ctx)
}

// Conclude waits for the outstanding tasks, stops all nodes and judges.
func (n *Nodes) Conclude(ctx context.Context) (verify.Verdict, error) {
	if err := n.AwaitPromised(ctx, 60*time.Second); err != nil {
		return verify.Verdict{}, err
	}
	timing.Pause(ctx, n.Run.Options.TaskLease+2*time.Second) // time for repeats, and for callbacks after a cancel
	if err := n.StopAll(25 * time.Second); err != nil {
		return verify.Verdict{}, err
	}
	n.rest()
	v, err := n.Judge()
	n.Run.Lateness("of a process that only sleeps, in that time", n.Idle)
	n.Run.Must(v.MostPerFault <= MaxInFlight, "faults %d, duplicates %d, by one fault at most %d; a node has at most %d in flight", v.Faults, v.Duplicates, v.MostPerFault, MaxInFlight)
	n.Run.Lateness("of first arrivals, after faults too", v.Late)
	return v, err
}

// RecordFault logs a fault at that moment.
func (n *Nodes) RecordFault(kind string, at time.Time) error {
	return n.Faults.Append(verify.Fault{Kind: kind, At: at})
}

// rest ends the look at the machine. Twice is fine.
func (n *Nodes) rest() {
	if n.machine != nil {
		n.Idle, n.machine = n.machine.End(), nil
	}
}

// Close ends the processes and the servers that were started for them.
func (n *Nodes) Close() {
	n.rest()
	for _, s := range n.Servers {
		s.End()
	}
	n.Endpoints.close()
	n.Environment.Close()
	for _, end := range n.after {
		end()
	}
}
