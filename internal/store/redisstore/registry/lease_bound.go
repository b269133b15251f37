package registry

import (
	"math"
	"sync/atomic"

	"github.com/foliot/foliot/internal/task"
)

// LeaseBound is a time before which no lease in a shard ends. The zero value
// means that the leases are unknown. Only the owner adds leases. So the owner
// need not read them before the bound, unless the server has lost writes.
type LeaseBound struct{ at atomic.Int64 }

// Reached reports whether a lease may have ended by now.
func (b *LeaseBound) Reached(now task.Millis) bool { return b.at.Load() <= int64(now) }

// Lower lowers the bound to at. It must be called after the write of a lease
// that ends then, even if the write has failed: it may have been applied.
func (b *LeaseBound) Lower(at task.Millis) {
	for old := b.at.Load(); int64(at) < old && !b.at.CompareAndSwap(old, int64(at)); {
		old = b.at.Load()
	}
}

// Begin removes the bound before the leases are read. Then the caller calls
// Lower with the end of the first lease that it has found, or with 0 if the
// read fails. A lease that is written in between lowers the bound too.
func (b *LeaseBound) Begin() { b.at.Store(math.MaxInt64) }
