package textbook

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

// wheel is what both wheels offer.
type wheel interface {
	Add(t *Timer, delay int)
	Remove(t *Timer) bool
	Move(t *Timer, delay int) bool
	Len() int
	Tick() (due []*Timer)
}

// model is a slice of pending timers, in the order in which they are due.
type model []pending

type pending struct {
	due   int
	timer *Timer
}

func (m *model) add(t *Timer, due int) {
	i, _ := slices.BinarySearchFunc(*m, due, func(p pending, due int) int { return p.due - due })
	*m = slices.Insert(*m, i, pending{due, t})
}

func (m *model) remove(t *Timer) bool {
	before := len(*m)
	*m = slices.DeleteFunc(*m, func(p pending) bool { return p.timer == t })
	return len(*m) < before
}

// take removes the timers that are due at a tick.
func (m *model) take(now int) (due map[*Timer]bool) {
	due = map[*Timer]bool{}
	for ; len(*m) > 0 && (*m)[0].due <= now; *m = (*m)[1:] {
		due[(*m)[0].timer] = true
	}
	return due
}

func TestEachTimerIsDueWithTheTickOfItsDelay(t *testing.T) {
	for _, slots := range []int{1, 2, 8, 64} {
		t.Run(fmt.Sprint("ring of ", slots), func(t *testing.T) { agrees(t, NewRing(slots), slots) })
	}
	for _, sizes := range [][]int{{8, 8, 8}, {2, 3, 5}, {1, 4}, {4, 1, 1}, {60, 60, 24}} {
		h := NewHands(sizes...)
		t.Run(fmt.Sprint("hands of ", sizes), func(t *testing.T) { agrees(t, h, h.Range()) })
	}
}

// agrees compares a wheel with the model, for random operations with delays of
// up to three times the span.
func agrees(t *testing.T, w wheel, span int) {
	r := rand.New(rand.NewPCG(1, 2))
	delay := func() int { return r.IntN(3*min(span, 1+r.IntN(span))+2) - 1 }
	var m model
	var timers []*Timer // pending ones and ended ones
	now := 0
	for range 30_000 {
		switch op := r.IntN(8); {
		case op == 0:
			timer, d := new(Timer), delay()
			timers = append(timers, timer)
			w.Add(timer, d)
			m.add(timer, now+max(d, 1))
		case op < 3 && len(timers) > 0:
			timer := timers[r.IntN(len(timers))]
			pending := m.remove(timer)
			if op == 1 {
				if got := w.Remove(timer); got != pending {
					t.Fatalf("tick %d: Remove returned %v, want %v", now, got, pending)
				}
				break
			}
			d := delay()
			if got := w.Move(timer, d); got != pending {
				t.Fatalf("tick %d: Move returned %v, want %v", now, got, pending)
			}
			if pending {
				m.add(timer, now+max(d, 1))
			}
		default:
			now++
			got := map[*Timer]bool{}
			for _, timer := range w.Tick() {
				got[timer] = true
			}
			if want := m.take(now); !maps.Equal(got, want) {
				t.Fatalf("tick %d: %d timers are due, want %d (or others)", now, len(got), len(want))
			}
		}
		if w.Len() != len(m) {
			t.Fatalf("tick %d: Len is %d, want %d", now, w.Len(), len(m))
		}
	}
}
