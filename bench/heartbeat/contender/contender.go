// Package contender closes connections that send no heartbeats, in each of the
// compared ways. Its child process measures one of them.
package contender

import (
	"fmt"
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

// An hour passes in two minutes: all times are those of the server, divided by
// speed.
const (
	speed   = 30
	Every   = 30 * time.Second / speed // between two heartbeats of a connection, on average
	timeout = 60 * time.Second / speed

	// BeatsInAnHour is the number of heartbeats of a connection.
	BeatsInAnHour = float64(time.Hour / speed / Every)
)

// conns count how often each connection has ended.
type conns []conn

type conn struct{ ended atomic.Int32 }

func (c *conn) end() { c.ended.Add(1) }

func (c conns) end(i uint32) { c[i].end() }

// Info describes a contender.
type Info struct {
	Name, Title, What string
	Ours              bool

	open func(conns) Timeouts
}

// Names that the report needs.
const (
	None = "none" // the harness alone, which is subtracted from all others
	Heap = "heap" // the one that all others are compared with
)

// All lists them in the order of the table.
var All = []Info{
	{
		Name: None, Title: "harness alone",
		open: func(conns) Timeouts { return none{} },
	},
	{
		Name: Heap, Title: "heap: remove and add",
		What: "a binary heap under a lock, with one timer; a removed timer leaves it at once, unlike in Workerman",
		open: openHeap,
	},
	{
		Name: "heap-inside", Title: "heap in the connections",
		What: "`container/heap` of connection numbers; each connection has its deadline and its index, and a heartbeat is `heap.Fix`",
		open: openInside,
	},
	{
		Name: "ring", Title: "wheel of lists: remove and add",
		What: "the wheel of the articles: 64 lists of a second, a map from keys to elements, and a goroutine behind channels",
		open: openRing,
	},
	{
		Name: "time-add", Title: "package time: Stop and AfterFunc",
		open: openTimeAdd,
	},
	{
		Name: "time-reset", Title: "package time: Reset",
		open: openTimeReset,
	},
	{
		Name: "wheel", Title: "wheel: Remove and Add", Ours: true,
		open: openWheel,
	},
	{
		Name: "keyed", Title: "wheel.Keyed: Set", Ours: true,
		open: openKeyed,
	},
	{
		Name: "extend", Title: "wheel: Extend", Ours: true,
		open: openExtend,
	},
	{
		Name: "idle", Title: "idle: TouchRead", Ours: true,
		open: openIdle,
	},
}

// Find returns the description of a contender.
func Find(name string) (*Info, error) {
	for i := range All {
		if All[i].Name == name {
			return &All[i], nil
		}
	}
	return nil, fmt.Errorf("there is no contender %q", name)
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

func (x *handles[H]) Open(i uint32)      { x.kept[i] = x.add(i) }
func (x *handles[H]) Heartbeat(i uint32) { x.kept[i] = x.beat(x.kept[i], i) }
func (x *handles[H]) Close()             { x.close() }
