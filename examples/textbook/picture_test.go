package textbook

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

// picture draws a ring: its slots with the delays and rounds of their timers.
func picture(r *Ring, delays map[*Timer]int) string {
	var b strings.Builder
	for i, slot := range r.slots {
		line := fmt.Sprint("slot ", i)
		if i == r.hand {
			line += " <- hand"
		}
		timers := ""
		for t := slot.first; t != nil; t = t.next {
			rounds := fmt.Sprintf("%d rounds", t.Rounds)
			if t.Rounds == 1 {
				rounds = "1 round"
			}
			timers = fmt.Sprintf("   %d s, %s", delays[t], rounds) + timers // push puts the newest first
		}
		b.WriteString(strings.TrimRight(line+strings.Repeat(" ", max(0, 7-len(line)))+timers, " ") + "\n")
	}
	return b.String()
}

var shown = regexp.MustCompile("(?s)<!-- picture: ring -->\n```\n(.*?)```\n")

func TestTheDesignOfWheelShowsThisRing(t *testing.T) {
	const page = "../../wheel/DESIGN.md"
	r, delays := NewRing(8), map[*Timer]int{}
	r.Tick()
	for _, delay := range []int{4, 50, 12} {
		timer := new(Timer)
		r.Add(timer, delay)
		delays[timer] = delay
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	block := shown.FindSubmatch(text)
	if block == nil {
		t.Fatal("the page has no picture of a ring")
	}
	drawn := picture(r, delays)
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(page, []byte(strings.Replace(string(text), string(block[1]), drawn, 1)), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if string(block[1]) != drawn {
		t.Errorf("%s shows\n%sand the ring is\n%sUPDATE_GOLDEN=1 rewrites it", page, block[1], drawn)
	}
}
