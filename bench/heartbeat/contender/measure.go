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
func (c *Child) Beat(cfg Config, out *record.Values) error {
	info, err := record.Find(All, cfg.Contender)
	if err != nil {
		return err
	}
	c.none = cfg.Contender == None
	c.server = server{cfg.Timeout, make([]conn, cfg.Connections)}
	before := usage.Live()
	c.timeouts = info.open(&c.server)
	c.load = rounds{n: cfg.Connections, every: cfg.every(), nap: 5 * time.Millisecond, start: time.Now()}
	_ = c.load.until(cfg.every(), visit(c.timeouts.Open))
	_ = c.load.until(cfg.opening(), c.heartbeat)
	start, done := usage.CPU(), c.load.done
	_ = c.load.until(cfg.opening()+cfg.Timeout, c.heartbeat)
	c.values = record.Values{
		record.CPUNanos: float64(usage.CPU()-start) / float64(c.load.done-done),
		record.Bytes:    float64(usage.Live()-before) / float64(cfg.Connections),
	}
	*out = c.values
	return c.noneEnded()
}

// Calls measures n heartbeats that come one right after the other.
func (c *Child) Calls(n int, out *record.Values) error {
	start := usage.CPU()
	_ = c.load.visits(n, c.heartbeat)
	c.values[CallNanos] = float64(usage.CPU()-start) / float64(n)
	*out = c.values
	return c.noneEnded()
}

// Silence waits until each connection has ended for its silence, once.
func (c *Child) Silence(patience time.Duration, out *record.Values) error {
	*out = c.values
	defer c.timeouts.Close()
	if c.none {
		return nil
	}
	for begin := time.Now(); c.ended() < len(c.conns); time.Sleep(c.timeout / 10) {
		if time.Since(begin) > patience {
			return fmt.Errorf("%d of %d silent connections ended", c.ended(), len(c.conns))
		}
	}
	for i := range c.conns {
		if n := c.conns[i].ended.Load(); n != 1 {
			return fmt.Errorf("connection %d ended %d times", i, n)
		}
	}
	return nil
}

func (c *Child) heartbeat(i int) error { return visit(c.timeouts.Heartbeat)(i) }

func visit(f func(uint32)) func(int) error {
	return func(i int) error {
		f(uint32(i))
		return nil
	}
}

func (c *Child) noneEnded() error {
	if n := c.ended(); n > 0 {
		return fmt.Errorf("%d connections ended in spite of their heartbeats", n)
	}
	return nil
}

// ended returns the number of connections that have ended.
func (c *Child) ended() (n int) {
	for i := range c.conns {
		if c.conns[i].ended.Load() > 0 {
			n++
		}
	}
	return n
}
