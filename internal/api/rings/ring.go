package rings

import (
	"slices"

	"github.com/foliot/foliot/internal/task"
)

// Ring is a row of slots of equal length, where the first slot contains the
// time of the count.
type Ring struct {
	Slot  task.Millis // the length of a slot
	From  task.Millis // the beginning of the first slot, a multiple of Slot since the Unix epoch
	Slots int
}

// wheelSlots is the number of slots of each ring of Wheel.
const wheelSlots = 64

// MaxRings is the largest number of rings of Wheel. The last one spans 2.2 years.
const MaxRings = 5

// Wheel returns n rings. A slot of the first ring is 64
// milliseconds long, and a slot of each other ring is as long as the ring before it.
func Wheel(now task.Millis, n int) []Ring {
	all := make([]Ring, n)
	slot := task.Millis(1)
	for i := range all {
		slot *= wheelSlots
		all[i] = New(now, slot, wheelSlots)
	}
	return all
}

// New returns a ring whose first slot contains now.
func New(now, slot task.Millis, slots int) Ring {
	return Ring{Slot: slot, From: now - now%slot, Slots: slots}
}

func (r Ring) Until() task.Millis { return r.From + r.Slot*task.Millis(r.Slots) }

// bounds returns the bounds of the intervals between the slots of all rings, in
// order. The first is the millisecond after now: the tasks before it are overdue.
func bounds(now task.Millis, all []Ring) []task.Millis {
	list := []task.Millis{now + 1}
	for _, r := range all {
		for at := r.From + r.Slot; at <= r.Until(); at += r.Slot {
			list = append(list, max(at, now+1))
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}
