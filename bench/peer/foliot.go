package peer

import (
	"time"

	"github.com/foliot/foliot/wheel"
)

// value is what Foliot carries for each timer: a number, without a pointer.
type value int64

// foliot is a Wheel of Foliot.
type foliot[T any] struct {
	*wheel.Wheel[T]
	carry func(i int) T
}

// OpenFoliot returns a Wheel whose callbacks run where run says; nil is the default.
func OpenFoliot(s Sink, run wheel.Runner) Timers[wheel.ID] {
	return foliot[value]{
		Wheel: wheel.New(wheel.Config{Run: run}, func(v value) { fire(s, v) }),
		carry: func(i int) value { return value(i) },
	}
}

func fire(s Sink, v value) {
	if v != nobody {
		s.Fire(int(v))
	}
}

// clockEvery is how many timers of a batch share one reading of the clock, which is a microsecond or so old for the last
// of them. That is the point of batches; an early timer would look earlier for it, not later.
const clockEvery = 32

// OpenFoliotBatch returns a Wheel that hands over batches, on the driver's goroutine.
func OpenFoliotBatch(s Sink) Timers[wheel.ID] {
	return foliot[value]{
		Wheel: wheel.NewBatch(wheel.Config{Run: wheel.Inline}, func(batch []wheel.Expired[value]) {
			var now time.Duration
			for i := range batch {
				if i%clockEvery == 0 {
					now = s.Now()
				}
				if v := batch[i].Value; v != nobody {
					s.FireAt(int(v), now)
				}
			}
		}),
		carry: func(i int) value { return value(i) },
	}
}

// object is what a program might point to: as large as the closure that it needs with package time.
type object struct {
	i int
	_ int
}

// OpenFoliotPointer returns a Wheel whose values are pointers.
func OpenFoliotPointer(s Sink) Timers[wheel.ID] {
	none := &object{i: nobody}
	return foliot[*object]{
		Wheel: wheel.New(wheel.Config{}, func(o *object) { fire(s, value(o.i)) }),
		carry: func(i int) *object {
			if i == nobody {
				return none
			}
			return &object{i: i}
		},
	}
}

func (f foliot[T]) Nop(d time.Duration) wheel.ID        { return f.Add(d, f.carry(nobody)) }
func (f foliot[T]) Set(d time.Duration, i int) wheel.ID { return f.Add(d, f.carry(i)) }
func (f foliot[T]) Pending() (int, bool)                { return f.Len(), true }

func (f foliot[T]) Remove(id wheel.ID) bool {
	_, ok := f.Wheel.Remove(id)
	return ok
}

// foliotReset is Foliot for a program that does not know of Extend.
type foliotReset struct{ foliot[value] }

// OpenFoliotReset returns a Wheel whose Extend is Reset.
func OpenFoliotReset(s Sink) Timers[wheel.ID] {
	return foliotReset{OpenFoliot(s, nil).(foliot[value])}
}

func (f foliotReset) Extend(id wheel.ID, d time.Duration) bool { return f.Reset(id, d) }

// OpenFoliotTimers returns Foliot's likeness of package time.
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
