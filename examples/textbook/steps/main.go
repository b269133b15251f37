// Command steps follows one timer through a wheel of package textbook, and
// prints where it is each time that it moves or is passed. One ring is the ring
// with rounds. Without flags, it prints the numbers of the articles.
//
//	go run -C examples ./textbook/steps
//	go run -C examples ./textbook/steps -rings 60,60,24 -delay 7100
//	go run -C examples ./textbook/steps -rings 8 -delay 50 -age 1
package main

import (
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"strconv"
	"strings"

	"github.com/foliot/foliot/examples/textbook"
)

func main() {
	rings := flag.String("rings", "", "sizes of the rings, the finest first")
	delay, age := flag.Int("delay", 50, "ticks until the timer is due"), flag.Int("age", 0, "ticks before it is added")
	flag.Parse()
	if *rings == "" {
		articles(os.Stdout)
		return
	}
	var sizes []int
	for _, s := range strings.Split(*rings, ",") {
		size, err := strconv.Atoi(s)
		if err != nil || size < 1 {
			log.Fatalf("-rings: %q is not a size: use numbers from 1, separated by commas", s)
		}
		sizes = append(sizes, size)
	}
	follow(os.Stdout, sizes, *delay, *age)
}

func articles(out io.Writer) {
	follow(out, []int{8}, 4, 1)
	follow(out, []int{8}, 50, 1)
	follow(out, []int{60, 60, 24}, 7100, 0)
	follow(out, []int{8, 8, 8}, 500, 12)
}

// wheel is a Ring or Hands.
type wheel interface {
	Add(t *textbook.Timer, delay int)
	Tick() []*textbook.Timer
}

// follow adds a timer to a wheel that is age ticks old.
func follow(out io.Writer, sizes []int, delay, age int) {
	var w wheel
	if len(sizes) == 1 {
		w = textbook.NewRing(sizes[0])
		fmt.Fprintf(out, "a ring of %d slots, hand at slot %d\n", sizes[0], age%sizes[0])
	} else {
		hands := textbook.NewHands(sizes...)
		w = hands
		fmt.Fprintf(out, "rings of %v slots, which reach %d ticks, %d ticks old\n", sizes, hands.Range(), age)
	}
	for range age {
		w.Tick()
	}
	t := new(textbook.Timer)
	w.Add(t, delay)
	for passed, last := 0, ""; ; passed++ {
		place := fmt.Sprintf("ring %d, slot %d", t.Ring, t.Slot)
		if len(sizes) == 1 {
			place = fmt.Sprintf("slot %d, %d rounds", t.Slot, t.Rounds)
		}
		if place != last {
			fmt.Fprintf(out, "  after %4d: %s, %d left\n", passed, place, delay-passed)
			last = place
		}
		if len(w.Tick()) > 0 {
			fmt.Fprintf(out, "  after %4d: due\n", passed+1)
			return
		}
	}
}
