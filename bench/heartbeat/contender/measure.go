package contender

import (
	"fmt"
	"time"

	"github.com/foliot/foliot/bench/record"
	"github.com/foliot/foliot/bench/usage"
)

// Child is a child process. Its methods are those of package rpc. They are
// called in their order, and each returns the values so far.
type Child struct {
	server
	timeouts Timeouts
	load     rounds
	values   record.Values
	none     bool
}

// Config describes a measurement.
type Config struct {
	Contender   string
	Connections int
	Timeout     time.Duration // each connection sends a heartbeat every half of it, on average
}

// CallNanos names the CPU time of a heartbeat that comes right after another.
const CallNanos = "call_ns"

func (c *Config) every() time.Duration { return c.Timeout / 2 }

// opening is the time before the measurement: connections open for as long as
// lies between two heartbeats, and send heartbeats for the timeout.
func (c *Config) opening() time.Duration { return c.every() + c.Timeout }

// Took returns the approximate duration of a measurement.
func (c *Config) Took() time.Duration { return c.opening() + c.Timeout + c.Timeout + 5*time.Second }

// Beat opens the connections, and lets them send heartbeats. It measures their
// cost for the timeout. No connection may end.
func (x *Child) Beat(c Config, out *record.Values) error {
	info, err := record.Find(All, c.Contender)
	if err != nil {
		return err
	}
	x.none = c.Contender == None
	x.server = server{c.Timeout, make([]conn, c.Connections)}
	before := usage.Live()
	x.timeouts = info.open(&x.server)
	x.load = rounds{n: c.Connections, every: c.every(), nap: 5 * time.Millisecond, start: time.Now()}
	_ = x.load.until(c.every(), visit(x.timeouts.Open))
	_ = x.load.until(c.opening(), x.heartbeat)
	start, done := usage.CPU(), x.load.done
	_ = x.load.until(c.opening()+c.Timeout, x.heartbeat)
	x.values = record.Values{
		record.CPUNanos: float64(usage.CPU()-start) / float64(x.load.done-done),
		record.Bytes:    float64(usage.Live()-before) / float64(c.Connections),
	}
	*out = x.values
	return x.noneEnded()
}

// Calls measures n heartbeats that come one right after the other.
func (x *Child) Calls(n int, out *record.Values) error {
	start := usage.CPU()
	_ = x.load.visits(n, x.heartbeat)
	x.values[CallNanos] = float64(usage.CPU()-start) / float64(n)
	*out = x.values
	return x.noneEnded()
}

// Silence waits until each connection has ended for its silence, once.
func (x *Child) Silence(patience time.Duration, out *record.Values) error {
	*out = x.values
	defer x.timeouts.Close()
	if x.none {
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
