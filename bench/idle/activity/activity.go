// Package activity measures the cost of a guard for each use of a connection,
// without the cost of the use itself.
package activity

import (
	"fmt"
	"net"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/foliot/foliot/bench/idle/guard"
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

// Cost is the cost of one use.
type Cost struct {
	Guard      string  `json:"guard"`
	Goroutines int     `json:"goroutines"` // each has a connection of its own
	Written    bool    `json:"written"`    // a read and a write, not a read alone
	Nanos      float64 `json:"nanos"`      // wall time
	Allocs     float64 `json:"allocs"`
}

// Measure runs the trials in rounds: every guard has its first before any has its
// second.
func (*Meter) Measure(c Config, out *[]Cost) error {
	for _, goroutines := range []int{1, 64} {
		for _, written := range []bool{false, true} {
			trials := map[string][]Cost{}
			for range c.Trials {
				for _, name := range c.Guards {
					cost := Cost{Guard: name, Goroutines: goroutines, Written: written}
					if err := cost.measure(c.Window); err != nil {
						return fmt.Errorf("measure %s: %w", name, err)
					}
					trials[name] = append(trials[name], cost)
				}
			}
			for _, name := range c.Guards {
				*out = append(*out, median(trials[name]))
			}
		}
	}
	return nil
}

func median(trials []Cost) Cost {
	slices.SortFunc(trials, func(a, b Cost) int { return int(a.Nanos*1000) - int(b.Nanos*1000) })
	return trials[len(trials)/2]
}

// measure runs a single goroutine on one processor, so that the elapsed time is
// its whole cost.
func (c *Cost) measure(window time.Duration) error {
	if c.Goroutines == 1 {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	}
	const timeout = time.Minute // no connection is closed
	g, err := guard.Open(c.Guard, timeout)
	if err != nil {
		return err
	}
	defer g.Close()
	pairs := make([]pair, c.Goroutines)
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

func (c *Cost) run(pairs []pair, window time.Duration) {
	var users sync.WaitGroup
	uses := make([]int, len(pairs))
	runtime.GC()
	before, start := usage.Mallocs(), time.Now()
	for i := range pairs {
		users.Go(func() {
			for time.Since(start) < window {
				use(pairs[i].guarded, c.Written)
				uses[i] += batch
			}
		})
	}
	users.Wait()
	took, done := time.Since(start), 0
	for _, n := range uses {
		done += n
	}
	c.Nanos = float64(took) / float64(done)
	c.Allocs = float64(usage.Mallocs()-before) / float64(done)
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
