package contender

import (
	"math"
	"sync/atomic"
	"time"
)

// scan looks at the time stamps of all connections.
type scan struct {
	*server
	base   time.Time
	stamps []atomic.Int64 // of the last heartbeats, in nanoseconds since base
	ticking
}

// silent is the stamp of a connection that is not open.
const silent = math.MaxInt64

func openScan(s *server) Timeouts {
	x := &scan{server: s, base: time.Now(), stamps: make([]atomic.Int64, len(s.conns))}
	for i := range x.stamps {
		x.stamps[i].Store(silent)
	}
	x.ticking = startTicking(s.second(), x.look)
	return x
}

func (x *scan) Open(i uint32)      { x.stamps[i].Store(int64(time.Since(x.base))) }
func (x *scan) Heartbeat(i uint32) { x.Open(i) }

func (x *scan) look() {
	oldest := int64(time.Since(x.base) - x.timeout)
	for i := range x.stamps {
		if at := x.stamps[i].Load(); at <= oldest && x.stamps[i].CompareAndSwap(at, silent) {
			x.end(uint32(i))
		}
	}
}
