package contender

import (
	"math"
	"sync/atomic"
	"time"
)

// scan looks at the time stamps of all connections. openScan starts its
// goroutine; Close stops it and waits.
type scan struct {
	*server
	base   time.Time
	stamps []atomic.Int64 // of the last heartbeats, in nanoseconds since base
	quit   chan struct{}
	gone   chan struct{}
}

// silent is the stamp of a connection that is not open.
const silent = math.MaxInt64

func openScan(s *server) Timeouts {
	x := &scan{s, time.Now(), make([]atomic.Int64, len(s.conns)), make(chan struct{}), make(chan struct{})}
	for i := range x.stamps {
		x.stamps[i].Store(silent)
	}
	go x.run()
	return x
}

func (x *scan) Open(i uint32)      { x.stamps[i].Store(int64(time.Since(x.base))) }
func (x *scan) Heartbeat(i uint32) { x.Open(i) }

func (x *scan) Close() {
	close(x.quit)
	<-x.gone
}

func (x *scan) run() {
	defer close(x.gone)
	tick := time.NewTicker(x.second())
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			x.look()
		case <-x.quit:
			return
		}
	}
}

func (x *scan) look() {
	oldest := int64(time.Since(x.base) - x.timeout)
	for i := range x.stamps {
		if at := x.stamps[i].Load(); at <= oldest && x.stamps[i].CompareAndSwap(at, silent) {
			x.end(uint32(i))
		}
	}
}
