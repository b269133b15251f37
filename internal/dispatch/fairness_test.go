package dispatch

import (
	"fmt"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/task"
)

// TestStartsAreSharedEquallyIfSlotsAreShort: a queue of ten destinations
// competes with a queue of one, and a namespace of ten queues with a namespace
// of one.
func TestStartsAreSharedEquallyIfSlotsAreShort(t *testing.T) {
	for name, many := range map[string]func(h int) edit{
		"queues": func(int) edit { return in("many") },
		"namespaces": func(h int) edit {
			return func(s *task.Spec) { s.Namespace, s.Queue = "many", fmt.Sprint("q", h) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, Config{Slots: 16}, nil, after(10*time.Millisecond), func(b *bed) {
				for h := range 10 {
					b.apply(crowd(t, fmt.Sprint("many", h), 300, to(fmt.Sprint("host", h)), many(h))...)
				}
				b.apply(crowd(t, "one", 1500, in("one"), to("one"))...)
				b.pass(500 * time.Millisecond)
				before := len(b.seen())
				b.pass(time.Second)
				n := map[bool]int{}
				for _, c := range b.seen()[before:] {
					n[c.name[:3] == "one"]++
				}
				if total := n[true] + n[false]; n[true] < total*40/100 || n[true] > total*60/100 || total < 1400 {
					t.Errorf("the queue or namespace with one lane had %d starts of %d", n[true], total)
				}
			})
		})
	}
}
