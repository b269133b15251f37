package peer

import (
	"sync/atomic"
	"time"

	"github.com/foliot/foliot/wheel"
)

// value is the value of each Foliot timer: a number, without a pointer.
type value int64

// foliot is a Wheel of Foliot.
type foliot struct{ *wheel.Wheel[value] }

// OpenFoliot returns a Wheel.
func OpenFoliot(s Sink) Timers[wheel.ID] {
	return foliot{wheel.New(wheel.Config{}, func(v value) { fire(s, v) })}
}

func fire(s Sink, v value) {
	if v != noNumber {
		s.Fire(int(v))
	}
}

// clockEvery is the number of timers of a batch that share one reading of the
// clock. At the last of them, the reading is about a microsecond old. Batches
// are meant for this. An old reading can make a timer look earlier than it was,
// but not later.
const clockEvery = 32

// OpenFoliotBatch returns a Wheel that passes batches to one callback, on the
// goroutine of the driver.
func OpenFoliotBatch(s Sink) Timers[wheel.ID] {
	return foliot{
		wheel.NewBatch(wheel.Config{Run: wheel.Inline}, func(batch []wheel.Expired[value]) {
			var now time.Duration
			for i := range batch {
				if i%clockEvery == 0 {
					now = s.Now()
				}
				if v := batch[i].Value; v != noNumber {
					s.FireAt(int(v), now)
				}
			}
		}),
	}
}

func (f foliot) Nop(d time.Duration) wheel.ID        { return f.add(d, noNumber) }
func (f foliot) Set(d time.Duration, i int) wheel.ID { return f.add(d, value(i)) }
func (f foliot) Pending() (int, bool)                { return f.Len(), true }

func (f foliot) add(d time.Duration, v value) wheel.ID {
	id, _ := f.Add(d, v) // it is neither full nor closed
	return id
}

func (f foliot) Remove(id wheel.ID) bool {
	_, ok := f.Wheel.Remove(id)
	return ok
}

// OpenFoliotTimers returns wheel.Timers, which has the methods of package time.
func OpenFoliotTimers(s Sink) Timers[*wheel.Timer] {
	timers := wheel.NewTimers(wheel.Config{})
	return functions[*wheel.Timer]{
		sink:   s,
		after:  timers.AfterFunc,
		remove: (*wheel.Timer).Stop,
		reset:  (*wheel.Timer).Reset,
		count:  timers.Len,
		close:  timers.Close,
	}
}

// keyed is a wheel.Keyed. Its keys are numbers from 0 for Set, and numbers
// below 0 for Nop.
type keyed struct {
	*wheel.Keyed[int, struct{}]
	nops atomic.Int64
}

// OpenFoliotKeyed returns a wheel.Keyed.
func OpenFoliotKeyed(s Sink) Timers[int] {
	return &keyed{Keyed: wheel.NewKeyed(wheel.Config{}, func(key int, _ struct{}) { fire(s, value(max(key, noNumber))) })}
}

func (k *keyed) Nop(d time.Duration) int              { return k.Set(d, int(-k.nops.Add(1))) }
func (k *keyed) Pending() (int, bool)                 { return k.Len(), true }
func (k *keyed) Reset(key int, d time.Duration) bool  { return k.Move(key, d) }
func (k *keyed) Extend(key int, d time.Duration) bool { return k.Move(key, d) }

func (k *keyed) Set(d time.Duration, key int) int {
	_, _ = k.Keyed.Set(key, d, struct{}{}) // it is neither full nor closed
	return key
}

func (k *keyed) Remove(key int) bool {
	_, ok := k.Keyed.Remove(key)
	return ok
}
