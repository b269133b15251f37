package textbook_test

import (
	"fmt"

	"github.com/foliot/foliot/examples/textbook"
)

// A ring of 8 slots, with ticks of a second. The hand stands at slot 1.
func ExampleRing_Place() {
	ring := textbook.NewRing(8)
	ring.Tick()
	for _, delay := range []int{4, 50, 8} {
		slot, rounds := ring.Place(delay)
		fmt.Printf("%2d s: slot %d, %d rounds\n", delay, slot, rounds)
	}
	// With delay / slots, as in many articles, 8 s would have 1 round, and take
	// 16 s.

	// Output:
	//  4 s: slot 5, 0 rounds
	// 50 s: slot 3, 6 rounds
	//  8 s: slot 1, 0 rounds
}

// Two timers share a slot. The hand passes one of them six times.
func ExampleRing_Tick() {
	ring := textbook.NewRing(8)
	ring.Tick()
	for _, delay := range []int{2, 50} {
		ring.Add(&textbook.Timer{Call: func() { fmt.Println("a timer of", delay, "s") }}, delay)
	}
	moved := &textbook.Timer{Call: func() { fmt.Println("the moved timer") }}
	ring.Add(moved, 3)
	ring.Move(moved, 10)
	for second := 1; ring.Len() > 0; second++ {
		for _, t := range ring.Tick() {
			fmt.Printf("after %2d s: ", second)
			t.Call()
		}
	}

	// Output:
	// after  2 s: a timer of 2 s
	// after 10 s: the moved timer
	// after 50 s: a timer of 50 s
}

// A clock of seconds, minutes and hours, and a timer of 7,100 s, which is 1 h
// 58 min 20 s.
func ExampleHands() {
	hands := textbook.NewHands(60, 60, 24)
	follow(hands, 7100)

	// Output:
	// 7100 s left: ring 2, slot 1
	// 3500 s left: ring 1, slot 58
	// 20 s left: ring 0, slot 20
	// 0 s left: due after 7100 s
}

// Three rings of 8 slots, for 1 s, 8 s and 64 s, and a timer of 500 s.
//
// A ring gives a timer to the ring below as soon as the timer fits there: with
// 64 s left and with 8 s left, which is after 436 s and 492 s. But it does so
// only when its hand moves: every 64 s and every 8 s. So these figures are the
// earliest ones. They are exact if the timer is due when the hand moves, as it
// is if the wheel is 12 s old: 12 + 500 = 8 * 64. On a new wheel, the hands move
// after 448 s and 496 s.
func ExampleHands_Range() {
	for _, age := range []int{12, 0} {
		hands := textbook.NewHands(8, 8, 8)
		for range age {
			hands.Tick()
		}
		fmt.Printf("range %d s, %d s old\n", hands.Range(), age)
		follow(hands, 500)
	}

	// Output:
	// range 512 s, 12 s old
	// 500 s left: ring 2, slot 7
	// 64 s left: ring 1, slot 7
	// 8 s left: ring 0, slot 0
	// 0 s left: due after 500 s
	// range 512 s, 0 s old
	// 500 s left: ring 2, slot 7
	// 52 s left: ring 1, slot 6
	// 4 s left: ring 0, slot 4
	// 0 s left: due after 500 s
}

// follow adds a timer, and prints where it is until it is due.
func follow(hands *textbook.Hands, delay int) {
	t := &textbook.Timer{}
	hands.Add(t, delay)
	for ring, passed := -1, 0; ; passed++ {
		if t.Ring != ring {
			ring = t.Ring
			fmt.Printf("%d s left: ring %d, slot %d\n", delay-passed, t.Ring, t.Slot)
		}
		if len(hands.Tick()) > 0 {
			fmt.Printf("0 s left: due after %d s\n", passed+1)
			return
		}
	}
}
