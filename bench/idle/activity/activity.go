// Package activity measures the cost of a guard for each use of a connection,
// without the cost of the use itself.
package activity

import (
	"cmp"
	"fmt"
	"net"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/foliot/foliot/bench/idle/guard"
	"github.com/foliot/foliot/bench/record"
	"github.com/foliot/foliot/bench/usage"
)

// Meter is a child process. Its methods are those of package rpc.
type Meter struct{}

// Config selects the measurement.
type Config struct {
	Guards []string
	Window time.Duration // duration of each trial
	Trials int           // the result is their median
}

// The parts of a run.
const (
	Read      = "read"
	ReadWrite = "read-write" // a read and a write
)

// cost is the cost of one use.
type cost struct {
	record.Job         // each of its callers has a connection of its own
	nanos      float64 // wall time
	allocs     float64
}

// Measure runs the trials in rounds: every guard has its first before any has its
// second.
func (*Meter) Measure(c Config, out *[]record.Result) error {
	for _, callers := range []int{1, 64} {
		for _, part := range []string{Read, ReadWrite} {
			trials := map[string][]cost{}
			for range c.Trials {
				for _, name := range c.Guards {
					x := cost{Job: record.Job{Part: part, Contender: name, Callers: callers}}
					if err := x.measure(c.Window); err != nil {
						return fmt.Errorf("measure %s: %w", name, err)
					}
					trials[name] = append(trials[name], x)
				}
			}
			for _, name := range c.Guards {
				all := trials[name]
				slices.SortFunc(all, func(a, b cost) int { return cmp.Compare(a.nanos, b.nanos) })
				x := all[len(all)/2]
				*out = append(*out, record.Result{Job: x.Job, Outcome: record.Outcome{Values: record.Values{record.WallNanos: x.nanos, record.Allocs: x.allocs}}})
			}
		}
	}
	return nil
}

// measure runs a single goroutine on one processor, so that the elapsed time is
// its whole cost.
func (c *cost) measure(window time.Duration) error {
	if c.Callers == 1 {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	}
	const timeout = time.Minute // no connection is closed
	g, err := guard.Open(c.Contender, timeout)
	if err != nil {
		return err
	}
	defer g.Close()
	pairs := make([]pair, c.Callers)
	defer func() {
		for _, p := range pairs {
			p.close(g)
		}
	}()
	for i := range pairs {
		if pairs[i], err = connect(g); err != nil {
			return err
		}
	}
	c.run(pairs, window)
	return nil
}

func (c *cost) run(pairs []pair, window time.Duration) {
	var users sync.WaitGroup
	uses := make([]int, len(pairs))
	runtime.GC()
	before, start := usage.Mallocs(), time.Now()
	for i := range pairs {
		users.Go(func() {
			for time.Since(start) < window {
				use(pairs[i].guarded, c.Part == ReadWrite)
				uses[i] += batch
			}
		})
	}
	users.Wait()
	took, done := time.Since(start), 0
	for _, n := range uses {
		done += n
	}
	c.nanos = float64(took) / float64(done)
	c.allocs = float64(usage.Mallocs()-before) / float64(done)
}

// batch is the number of uses between two readings of the clock.
const batch = 1024

func use(c guard.Conn, written bool) {
	for range batch {
		c.Reading()
		c.Heard(false)
		if written {
			c.Writing()
			c.Wrote()
		}
	}
}

// pair is both ends of a connection.
type pair struct {
	guarded guard.Conn
	peer    net.Conn
}

func connect(g guard.Guard) (p pair, err error) {
	raw, err := guard.Listen("127.0.0.1:0")
	if err != nil {
		return p, err
	}
	defer raw.Close()
	if p.peer, err = net.Dial("tcp", raw.Addr().String()); err != nil {
		return p, fmt.Errorf("connect: %w", err)
	}
	accepted, err := g.Listen(raw).Accept()
	if err != nil {
		return p, fmt.Errorf("accept: %w", err)
	}
	p.guarded, err = g.Watch(accepted)
	return p, err
}

func (p pair) close(g guard.Guard) {
	if p.guarded != nil {
		g.Leave(p.guarded)
		p.guarded.Close()
	}
	if p.peer != nil {
		p.peer.Close()
	}
}
