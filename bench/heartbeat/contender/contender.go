// Package contender closes connections that send no heartbeats, in each of the
// compared ways. Its child process measures one of them.
package contender

import (
	"sync/atomic"
	"time"

	"github.com/foliot/foliot/bench/record"
)

// Timeouts ends connections that send no heartbeat for the timeout. A
// connection is a number.
type Timeouts interface {
	Open(conn uint32)
	Heartbeat(conn uint32)
	Close()
}

// BeatsInAnHour is the number of heartbeats of a connection that sends one
// every 30 s.
const BeatsInAnHour = 120

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
	record.Contender
	open func(*server) Timeouts
}

// Names that the report needs.
const (
	None = "none" // the harness alone, which is subtracted from all others and has no row
	Heap = "heap" // the one that all others are compared with
)

// All lists them in the order of the table.
var All = []Info{
	{record.Contender{Name: None}, func(*server) Timeouts { return none{} }},
	{record.Contender{Name: Heap, Title: "heap: remove and add", What: "a binary heap under a lock, with one timer; a removed timer leaves it at once, unlike in the `select` loop of Workerman"}, openHeap},
	{record.Contender{Name: "heap-inside", Title: "heap in the connections", What: "`container/heap` of connection numbers; each connection has its deadline and its index, and a heartbeat is `heap.Fix`"}, openInside},
	{record.Contender{Name: "scan", Title: "a time stamp and a scan", What: "a heartbeat stores the time, and a goroutine looks at all connections each second"}, openScan},
	{record.Contender{Name: "ring", Title: "wheel of lists behind channels", What: "the wheel of the articles: 64 lists of a second, a map from keys to elements, and a goroutine; a heartbeat removes and adds"}, openRing},
	{record.Contender{Name: "ring-locked", Title: "wheel of lists under a lock", What: "the same lists and map, without the channels"}, openLockedRing},
	{record.Contender{Name: "time-add", Title: "package time: Stop and AfterFunc"}, openTimeAdd},
	{record.Contender{Name: "time-reset", Title: "package time: Reset"}, openTimeReset},
	{record.Contender{Name: "wheel", Title: "wheel: Remove and Add", Ours: true}, openWheel},
	{record.Contender{Name: "keyed", Title: "wheel.Keyed: Set", Ours: true}, openKeyed},
	{record.Contender{Name: "extend", Title: "wheel: Extend", Ours: true}, openExtend},
	{record.Contender{Name: "extend-1ms", Title: "wheel: Extend, Tick of 1 ms", Ours: true, What: "the default of `wheel.Config.Tick`; the other wheels have ticks of a second"}, openExtend1ms},
	{record.Contender{Name: "idle", Title: "idle: TouchRead", Ours: true}, openIdle},
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
