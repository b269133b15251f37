// Package contender closes connections that send no heartbeats, in each of the
// compared ways, and measures them.
package contender

import (
	"sync/atomic"
	"time"
)

// Timeouts ends connections that send no heartbeat for the timeout. A
// connection is a number.
type Timeouts interface {
	Open(conn uint32)
	Heartbeat(conn uint32)
	Close()
}

// server has the connections of a contender.
type server struct {
	timeout time.Duration
	conns   []conn
}

// second returns the accuracy of the timeouts: a second if they are a minute.
func (s *server) second() time.Duration { return s.timeout / 60 }

func (s *server) end(i uint32) { s.conns[i].end() }

// conn counts how often a connection has ended.
type conn struct{ ended atomic.Int32 }

func (c *conn) end() { c.ended.Add(1) }

// Info describes a contender.
type Info struct {
	Name string
	open func(*server) Timeouts
}

// None is the harness alone, which is subtracted from all others.
const None = "none"

// All lists them. docs/heartbeat-benchmarks.md describes them.
var All = []Info{
	{None, func(*server) Timeouts { return none{} }},
	{"heap", openHeap},
	{"heap-inside", openInside},
	{"scan", openScan},
	{"ring", openRing},
	{"ring-locked", openLockedRing},
	{"time-add", openTimeAdd},
	{"time-reset", openTimeReset},
	{"wheel", openWheel},
	{"keyed", openKeyed},
	{"extend", openExtend},
	{"extend-1ms", openExtend1ms},
	{"idle", openIdle},
}

type none struct{}

func (none) Open(uint32)      {}
func (none) Heartbeat(uint32) {}
func (none) Close()           {}

// handles adapts an implementation that returns a handle for each timer, which
// the connection keeps.
type handles[H any] struct {
	kept  []H
	add   func(conn uint32) H
	beat  func(h H, conn uint32) H // returns the handle from now on
	close func()
}

func (h *handles[H]) Open(i uint32)      { h.kept[i] = h.add(i) }
func (h *handles[H]) Heartbeat(i uint32) { h.kept[i] = h.beat(h.kept[i], i) }
func (h *handles[H]) Close()             { h.close() }
