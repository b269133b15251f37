package contender

import (
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/foliot/foliot/bench/metric"
	"github.com/foliot/foliot/bench/usage"
)

// trial is a contender with its connections.
type trial struct {
	server
	timeouts Timeouts
	load     rounds
}

// begin returns a trial whose connections are not open yet. Each sends a heartbeat
// every half of the timeout, on average.
func (i *Info) begin(connections int, timeout time.Duration) *trial {
	x := &trial{server: server{timeout, make([]conn, connections)}}
	x.timeouts = i.open(&x.server)
	x.load = rounds{n: connections, every: timeout / 2, start: time.Now()}
	return x
}

// Heartbeats lets connections send heartbeats at their true speed, and measures
// their cost for the time of a timeout. No connection may end before it falls
// silent, and then each must end once.
func (i *Info) Heartbeats(connections int, timeout time.Duration) (metric.Values, error) {
	before := usage.Live()
	x := i.begin(connections, timeout)
	defer x.timeouts.Close()
	opening := timeout/2 + timeout // connections open for the time between two heartbeats
	x.load.until(timeout/2, x.timeouts.Open)
	x.load.until(opening, x.timeouts.Heartbeat)
	start, done := usage.CPU(), x.load.done
	x.load.until(opening+timeout, x.timeouts.Heartbeat)
	v := metric.Values{
		metric.CPUNanos: float64(usage.CPU()-start) / float64(x.load.done-done),
		metric.Bytes:    float64(usage.Live()-before) / float64(connections),
	}
	err := x.noneEnded()
	if i.Name != None {
		err = errors.Join(err, x.silence(2*timeout))
	}
	return v, err
}

// Call measures heartbeats that come one right after the other.
func (i *Info) Call(b *testing.B, connections int) error {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	x := i.begin(connections, time.Minute)
	defer x.timeouts.Close()
	x.load.visit(connections, x.timeouts.Open)
	heartbeat := x.timeouts.Heartbeat
	for b.Loop() {
		x.load.visit(1, heartbeat)
	}
	return x.noneEnded()
}

// silence waits until each connection has ended for its silence, once.
func (x *trial) silence(patience time.Duration) error {
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

func (x *trial) noneEnded() error {
	if n := x.ended(); n > 0 {
		return fmt.Errorf("%d connections ended in spite of their heartbeats", n)
	}
	return nil
}

// ended returns the number of connections that have ended.
func (x *trial) ended() (n int) {
	for i := range x.conns {
		if x.conns[i].ended.Load() > 0 {
			n++
		}
	}
	return n
}
