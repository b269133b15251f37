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

// begin returns a trial whose connections are not open yet. Each sends a
// heartbeat every half of the timeout, on average.
func (i *Info) begin(connections int, timeout time.Duration) *trial {
	t := &trial{server: server{timeout, make([]conn, connections)}}
	t.timeouts = i.open(&t.server)
	t.load = rounds{n: connections, every: timeout / 2, start: time.Now()}
	return t
}

// Heartbeats lets connections send heartbeats at their true speed, and measures
// their cost for the time of a timeout. No connection may end before it falls
// silent, and then each must end once.
func (i *Info) Heartbeats(connections int, timeout time.Duration) (metric.Values, error) {
	before := usage.Live()
	t := i.begin(connections, timeout)
	defer t.timeouts.Close()
	opening := timeout/2 + timeout // connections open for the time between two heartbeats
	t.load.until(timeout/2, t.timeouts.Open)
	t.load.until(opening, t.timeouts.Heartbeat)
	start, done := usage.CPU(), t.load.done
	t.load.until(opening+timeout, t.timeouts.Heartbeat)
	v := metric.Values{
		metric.CPUNanos: float64(usage.CPU()-start) / float64(t.load.done-done),
		metric.Bytes:    float64(usage.Live()-before) / float64(connections),
	}
	err := t.noneEnded()
	if i.Name != None {
		err = errors.Join(err, t.silence(2*timeout))
	}
	return v, err
}

// Call measures heartbeats that come one right after the other.
func (i *Info) Call(b *testing.B, connections int) error {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	t := i.begin(connections, time.Minute)
	defer t.timeouts.Close()
	t.load.visit(connections, t.timeouts.Open)
	heartbeat := t.timeouts.Heartbeat
	for b.Loop() {
		t.load.visit(1, heartbeat)
	}
	return t.noneEnded()
}

// silence waits until each connection has ended for its silence, once.
func (t *trial) silence(patience time.Duration) error {
	for begin := time.Now(); t.ended() < len(t.conns); time.Sleep(t.timeout / 10) {
		if time.Since(begin) > patience {
			return fmt.Errorf("%d of %d silent connections ended", t.ended(), len(t.conns))
		}
	}
	for i := range t.conns {
		if n := t.conns[i].ended.Load(); n != 1 {
			return fmt.Errorf("connection %d ended %d times", i, n)
		}
	}
	return nil
}

func (t *trial) noneEnded() error {
	if n := t.ended(); n > 0 {
		return fmt.Errorf("%d connections ended in spite of their heartbeats", n)
	}
	return nil
}

// ended returns the number of connections that have ended.
func (t *trial) ended() (n int) {
	for i := range t.conns {
		if t.conns[i].ended.Load() > 0 {
			n++
		}
	}
	return n
}
