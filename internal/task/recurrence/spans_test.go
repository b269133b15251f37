package recurrence

import (
	"fmt"
	"testing"

	"github.com/foliot/foliot/internal/fatal"
)

// TestAJoinOfSpansClosesPastInstants: future instants stay open, unless all spans
// lie in the future.
func TestAJoinOfSpansClosesPastInstants(t *testing.T) {
	rule := everyMinute()
	c, err := rule.Calendar()
	fatal.If(t, err)
	spans := func(minutes ...int64) (all []Span) {
		for _, m := range minutes {
			all = append(all, Span{sec(60 * m), sec(60 * m)})
		}
		return all
	}
	for _, row := range []struct {
		have []int64 // minutes, a span each
		at   int64
		want string // the spans that are joined
	}{
		{[]int64{10, 20, 29, 40, 50, 60, 70, 80, 90, 100, 110, 120, 130, 200, 202, 204}, 150, "20-29"},
		{[]int64{10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110, 120, 130, 145, 202, 204}, 150, "145-150"},
		{[]int64{10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110, 120, 130, 140, 202, 204}, 5, "202-204"},
	} {
		r := &Progress{Rule: rule, Fired: spans(row.have...)}
		r.MarkFired(&c, sec(60*row.at))
		got := ""
		for _, f := range r.Fired {
			if f.From != f.Until {
				got += fmt.Sprintf("%d-%d", (f.From-start)/60_000, (f.Until-start)/60_000)
			}
		}
		if len(r.Fired) != MaxSpans || got != row.want {
			t.Errorf("at %d: joined %q, want %q: %v", row.at, got, row.want, r.Fired)
		}
	}
}
