package contender

import (
	"fmt"
	"time"

	"github.com/foliot/foliot/bench/idle/virtual"
	"github.com/foliot/foliot/bench/usage"
)

// Child is a child process. Its methods are those of package rpc. They are
// called in their order, and each returns the result so far.
type Child struct {
	server
	timeouts Timeouts
	load     virtual.Rounds
	result   Result
}

// Config describes a measurement.
type Config struct {
	Contender   string
	Connections int
	Timeout     time.Duration // each connection sends a heartbeat every half of it, on average
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

func (c *Config) every() time.Duration { return c.Timeout / 2 }

// opening is the time before the measurement: connections open for as long as
// lies between two heartbeats, and send heartbeats for the timeout.
func (c *Config) opening() time.Duration { return c.every() + c.Timeout }

// Took returns the approximate duration of a measurement.
func (c *Config) Took() time.Duration { return c.opening() + c.Timeout + c.Timeout + 5*time.Second }

// Beat opens the connections, and lets them send heartbeats. It measures their
// cost for the timeout. No connection may end.
func (x *Child) Beat(c Config, out *Result) error {
	x.result = Result{Contender: c.Contender, Connections: c.Connections}
	info, err := Find(c.Contender)
	if err != nil {
		return err
	}
	x.server = server{c.Timeout, make([]conn, c.Connections)}
	before := usage.Live()
	x.timeouts = info.open(&x.server)
	x.load = virtual.Rounds{N: c.Connections, Every: c.every(), Nap: 5 * time.Millisecond, Start: time.Now()}
	_ = x.load.Until(c.every(), visit(x.timeouts.Open))
	_ = x.load.Until(c.opening(), x.heartbeat)
	start, done := usage.Now(), x.load.Done
	_ = x.load.Until(c.opening()+c.Timeout, x.heartbeat)
	x.result.CPU, x.result.Heartbeats = usage.Now().CPU-start.CPU, int(x.load.Done-done)
	x.result.Bytes = float64(usage.Live()-before) / float64(c.Connections)
	*out = x.result
	return x.noneEnded()
}

// Calls measures n heartbeats that come one right after the other.
func (x *Child) Calls(n int, out *Result) error {
	start := usage.Now()
	_ = x.load.Visits(n, x.heartbeat)
	x.result.Calls, x.result.CallsCPU = n, usage.Now().CPU-start.CPU
	*out = x.result
	return x.noneEnded()
}

// Silence waits until each connection has ended for its silence, once.
func (x *Child) Silence(patience time.Duration, out *Result) error {
	*out = x.result
	defer x.timeouts.Close()
	if x.result.Contender == None {
		return nil
	}
	for begin := time.Now(); x.ended() < len(x.conns); time.Sleep(x.timeout / 10) {
		if time.Since(begin) > patience {
			return fmt.Errorf("%d of %d silent connections ended", x.ended(), len(x.conns))
		}
	}
	for i := range x.conns {
		if n := x.conns[i].ended.Load(); n != 1 {
			return fmt.Errorf("connection %d ended %d times", i, n)
		}
	}
	return nil
}

func (x *Child) heartbeat(i int) error { return visit(x.timeouts.Heartbeat)(i) }

func visit(f func(uint32)) func(int) error {
	return func(i int) error {
		f(uint32(i))
		return nil
	}
}

func (x *Child) noneEnded() error {
	if n := x.ended(); n > 0 {
		return fmt.Errorf("%d connections ended in spite of their heartbeats", n)
	}
	return nil
}

// ended returns the number of connections that have ended.
func (x *Child) ended() (n int) {
	for i := range x.conns {
		if x.conns[i].ended.Load() > 0 {
			n++
		}
	}
	return n
}
