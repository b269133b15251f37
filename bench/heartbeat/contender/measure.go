package contender

import (
	"fmt"
	"time"

	"github.com/foliot/foliot/bench/idle/virtual"
	"github.com/foliot/foliot/bench/usage"
)

// Child is a child process. Its methods are those of package rpc.
type Child struct{}

// Config describes a measurement.
type Config struct {
	Contender   string
	Connections int
	Rounds      int // heartbeats of each connection that are measured
}

// Result is its outcome.
type Result struct {
	Contender   string        `json:"contender"`
	Connections int           `json:"connections"`
	Heartbeats  int           `json:"heartbeats"`
	CPU         time.Duration `json:"cpu"`   // of the process, while they came
	Calls       int           `json:"calls"` // for further heartbeats, one right after the other
	CallsCPU    time.Duration `json:"calls_cpu"`
	Bytes       float64       `json:"bytes"` // heap bytes for each connection
	Failed      string        `json:"failed,omitempty"`
}

// Each returns the nanoseconds of CPU for a heartbeat.
func (r *Result) Each() float64 { return float64(r.CPU) / float64(r.Heartbeats) }

// Call returns the nanoseconds of CPU for the call alone.
func (r *Result) Call() float64 { return float64(r.CallsCPU) / float64(r.Calls) }

// opening is the time before the measurement: connections open during a round,
// and send heartbeats for the timeout.
const opening = Every + timeout

// Took returns the approximate duration of a measurement.
func (c *Config) Took() time.Duration {
	return opening + time.Duration(c.Rounds)*Every + timeout + Every
}

// Measure opens the connections, and lets them send heartbeats. During these no
// connection may end. Then all fall silent, and each must end once.
func (*Child) Measure(c Config, out *Result) error {
	*out = Result{Contender: c.Contender, Connections: c.Connections}
	info, err := Find(c.Contender)
	if err != nil {
		return err
	}
	all := make(conns, c.Connections)
	before := usage.Live()
	t := info.open(all)
	defer t.Close()
	load := virtual.Rounds{N: c.Connections, Every: Every, Nap: Every / 20, Start: time.Now()}
	open, heartbeat := visit(t.Open), visit(t.Heartbeat)
	_ = load.Until(Every, open)
	_ = load.Until(opening, heartbeat)
	start, done := usage.Now(), load.Done
	_ = load.Until(opening+time.Duration(c.Rounds)*Every, heartbeat)
	out.CPU, out.Heartbeats = usage.Now().CPU-start.CPU, int(load.Done-done)
	out.Bytes = float64(usage.Live()-before) / float64(c.Connections)

	out.Calls = 2 * out.Heartbeats
	start = usage.Now()
	_ = load.Visits(out.Calls, heartbeat)
	out.CallsCPU = usage.Now().CPU - start.CPU
	if n := all.ended(); n > 0 {
		return fmt.Errorf("%d connections ended in spite of their heartbeats", n)
	}
	if c.Contender == None {
		return nil
	}
	return all.allEnd()
}

func visit(f func(uint32)) func(int) error {
	return func(i int) error {
		f(uint32(i))
		return nil
	}
}

// allEnd waits until all silent connections have ended, and checks that each
// ended once.
func (c conns) allEnd() error {
	for silent := time.Now(); c.ended() < len(c); time.Sleep(timeout / 10) {
		if time.Since(silent) > 10*timeout {
			return fmt.Errorf("%d of %d silent connections ended", c.ended(), len(c))
		}
	}
	for i := range c {
		if n := c[i].ended.Load(); n != 1 {
			return fmt.Errorf("connection %d ended %d times", i, n)
		}
	}
	return nil
}

// ended returns the number of connections that have ended.
func (c conns) ended() (n int) {
	for i := range c {
		if c[i].ended.Load() > 0 {
			n++
		}
	}
	return n
}
