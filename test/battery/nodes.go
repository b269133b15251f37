package main

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

// nodes are foliot processes that share a Redis, and what a stage has beside
// its server. close ends all of them.
type nodes struct {
	*stage // whose server and client there are not
	list   []*server
	doors  *doors
	after  []func() // to be called when the nodes have ended

	machine *system.Jitter  // while they run; nil: they were judged
	idle    []time.Duration // how late this machine woke it; ascending
}

// redis starts a server for a trial, after which it is killed.
func (t *trial) redis(args ...string) (r *redistest.Server, end func(), err error) {
	r, err = redistest.Start(t.path("redis"), args...)
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

// proxied is redis behind a proxy, which ends with it.
func (t *trial) proxied() (p *redistest.Proxy, end func(), err error) {
	r, kill, err := t.redis()
	if err != nil {
		return nil, nil, err
	}
	if p, err = redistest.StartProxy(r.Addr); err != nil {
		kill()
		return nil, nil, err
	}
	return p, func() { p.Close(); kill() }, nil
}

// onRedis starts count nodes on a Redis of their own, with their logs below sub.
func (t *trial) onRedis(ctx context.Context, sub string, count int) (*nodes, error) {
	r, end, err := t.redis()
	if err != nil {
		return nil, err
	}
	n, err := t.nodesIn(sub, count, "redis://"+r.Addr)
	if err != nil {
		end()
		return nil, err
	}
	n.after = append(n.after, end)
	if err := n.startAll(ctx); err != nil {
		n.close()
		return nil, err
	}
	return n, nil
}

// nodesIn prepares count nodes, n1, n2 …, for the store at url, with their logs
// below sub. The leases are the options'. No process runs yet.
func (t *trial) nodesIn(sub string, count int, url string, flags ...string) (*nodes, error) {
	st, err := t.logsIn(sub)
	if err != nil {
		return nil, err
	}
	n := &nodes{stage: st, doors: &doors{}, machine: system.WatchJitter(context.Background())} // close ends it
	for i := range count {
		name := fmt.Sprintf("n%d", i+1)
		dir := filepath.Join(st.dir, name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			n.close()
			return nil, err
		}
		s, err := newServer(t.opts.binary, dir, append([]string{
			"--store", url, "--node", name, "--shard-lease", t.opts.shardLease.String(), "--lease", t.opts.taskLease.String(),
		}, flags...)...)
		if err != nil {
			n.close()
			return nil, err
		}
		n.list = append(n.list, s)
		n.doors.list = append(n.doors.list, newDoor(s.url()))
	}
	return n, nil
}

// startAll starts all processes at once, and returns when all of them are ready.
func (n *nodes) startAll(ctx context.Context) error {
	return n.each(func(s *server) error { return s.run(ctx) })
}

// stopAll stops all processes that run, as an operator does; each must exit with 0.
func (n *nodes) stopAll(within time.Duration) error {
	return n.each(func(s *server) error { return s.stop(within) })
}

// each does something to all at once, and waits.
func (n *nodes) each(do func(*server) error) error {
	errs := make([]error, len(n.list))
	var all sync.WaitGroup
	for i, s := range n.list {
		all.Go(func() { errs[i] = do(s) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// concludeUnder concludes a load that goes on while do does.
func (n *nodes) concludeUnder(ctx context.Context, load *killLoad, do func() error) (verify.Verdict, error) {
	if err := load.during(ctx, do); err != nil {
		return verify.Verdict{}, err
	}
	return n.conclude(ctx)
}

// conclude waits for what is outstanding, stops all nodes and judges.
func (n *nodes) conclude(ctx context.Context) (verify.Verdict, error) {
	if err := n.awaitPromised(ctx, 60*time.Second); err != nil {
		return verify.Verdict{}, err
	}
	timing.Pause(ctx, n.t.opts.taskLease+2*time.Second) // what comes twice or after its cancel would come by now
	if err := n.stopAll(25 * time.Second); err != nil {
		return verify.Verdict{}, err
	}
	n.rest()
	v, err := n.judge()
	n.t.lateness("of a process that only sleeps, meanwhile", n.idle)
	n.t.must(v.MostPerFault <= maxInFlight, "faults %d, duplicates %d, by one fault at most %d; a node has at most %d in flight", v.Faults, v.Duplicates, v.MostPerFault, maxInFlight)
	n.t.lateness("of first arrivals, after faults too", v.Late)
	return v, err
}

// fault writes down what was done at that moment.
func (n *nodes) fault(kind string, at time.Time) error {
	return n.faults.Append(verify.Fault{Kind: kind, At: at})
}

// rest ends the look at the machine. Twice is fine.
func (n *nodes) rest() {
	if n.machine != nil {
		n.idle, n.machine = n.machine.End(), nil
	}
}

func (n *nodes) close() {
	n.rest()
	for _, s := range n.list {
		s.end()
	}
	n.doors.close()
	n.stage.close()
	for _, end := range n.after {
		end()
	}
}
