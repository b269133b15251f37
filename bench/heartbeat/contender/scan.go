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

func (s *scan) Open(i uint32)      { s.stamps[i].Store(int64(time.Since(s.base))) }
func (s *scan) Heartbeat(i uint32) { s.Open(i) }

func (s *scan) look() {
	oldest := int64(time.Since(s.base) - s.timeout)
	for i := range s.stamps {
		if at := s.stamps[i].Load(); at <= oldest && s.stamps[i].CompareAndSwap(at, silent) {
			s.end(uint32(i))
		}
	}
}
