package wheel

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/foliot/foliot/internal/fatal"
)

// draw draws the slots of a wheel with one shard and ticks of 1 ms. Each slot
// shows its number of timers, "+" for more than nine, and "|" for the present
// time. Levels without timers are left out.
func draw(w *Wheel[int], now time.Duration) string {
	var b strings.Builder
	s := w.Stats()
	next := "nothing to do"
	if d, ok := untilNext(w); ok {
		next = "to do in " + d.String()
	}
	fmt.Fprintf(&b, "at %v: %d pending, %d fired, %d cascades, %s\n", now, s.Pending, s.Fired, cascadesOf(w), next)
	tick := uint64(now / time.Millisecond)
	for level, slots := range w.Occupancy() {
		var row strings.Builder
		occupied := false
		for slot, n := range slots {
			occupied = occupied || n > 0
			row.WriteString(drawSlot(n, uint64(slot) == tick>>(slotBits*level)&slotMask))
		}
		if occupied {
			fmt.Fprintf(&b, "  level %d %s\n", level, row.String())
		}
	}
	return b.String()
}

// cascadesOf returns how many slots were spread over lower levels.
func cascadesOf[T any](w *Wheel[T]) (cascades uint64) {
	for _, sh := range w.shards {
		sh.mu.Lock()
		cascades += sh.ticks.cascades
		if sh.wall != nil {
			cascades += sh.wall.cascades
		}
		sh.mu.Unlock()
	}
	return cascades
}

func drawSlot(n int, now bool) string {
	switch {
	case n > 9:
		return "+"
	case n > 0:
		return fmt.Sprint(n)
	case now:
		return "|"
	}
	return "."
}

// scenes set timers and call show, which draws the wheel after some time.
var scenes = map[string]func(w *Wheel[int], show func(after time.Duration)){
	"cascade": func(w *Wheel[int], show func(time.Duration)) {
		for _, d := range []time.Duration{3, 70, 71, 5000} {
			must(w.Add(d*time.Millisecond, 0))
		}
		show(0)
		show(64 * time.Millisecond)
		show(7 * time.Millisecond)
	},
	"extend": func(w *Wheel[int], show func(time.Duration)) {
		id := must(w.Add(20*time.Millisecond, 0))
		show(0)
		show(10 * time.Millisecond)
		w.Extend(id, 30*time.Millisecond)
		show(0)
		show(9 * time.Millisecond)
		show(time.Millisecond)
		show(20 * time.Millisecond)
	},
}

// shown is a block of a page, below the line with the name of its scene.
var shown = regexp.MustCompile("(?s)<!-- picture: (cascade|extend) -->\n```\n(.*?)```\n")

func TestTheDesignShowsWhatTheCodeDraws(t *testing.T) {
	page, err := os.ReadFile("DESIGN.md")
	fatal.If(t, err)
	drawn := shown.ReplaceAllFunc(page, func(block []byte) []byte {
		name := string(shown.FindSubmatch(block)[1])
		return fmt.Appendf(nil, "<!-- picture: %s -->\n```\n%s```\n", name, play(t, scenes[name]))
	})
	if len(shown.FindAll(page, -1)) != 2 {
		t.Error("DESIGN.md does not have both pictures")
	}
	if os.Getenv("UPDATE_GOLDEN") != "" {
		fatal.If(t, os.WriteFile("DESIGN.md", drawn, 0o644))
		return
	}
	if diff := cmp.Diff(string(page), string(drawn)); diff != "" {
		t.Errorf("DESIGN.md (-is +should be); UPDATE_GOLDEN=1 rewrites it:\n%s", diff)
	}
}

// play returns the pictures of a scene.
func play(t *testing.T, scene func(w *Wheel[int], show func(time.Duration))) (pictures string) {
	synctest.Test(t, func(t *testing.T) {
		w := New(Config{Shards: 1, Run: Inline}, func(int) {})
		w.Remove(must(w.Add(time.Millisecond, 0)))
		var all []string
		begun := time.Now()
		scene(w, func(after time.Duration) {
			time.Sleep(after)
			synctest.Wait()
			all = append(all, draw(w, time.Since(begun)))
		})
		w.Close()
		pictures = strings.Join(all, "\n")
	})
	return pictures
}

func TestOccupancyCountsTheTimersOfAllShardsAndBothClocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := New(Config{Shards: 4}, func(int) {})
		for i := range 1000 {
			d := time.Duration(i+1) * time.Minute
			must(w.Add(d, i))
			must(w.AddAt(When{At: time.Now().Add(d)}, i))
		}
		n := 0
		for _, row := range w.Occupancy() {
			for _, timers := range row {
				n += timers
			}
		}
		if n != 2000 {
			t.Errorf("%d timers", n)
		}
		w.Close()
	})
}
