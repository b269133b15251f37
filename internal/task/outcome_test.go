package task

import (
	"testing"
	"time"
)

func TestADueTimeThatWasPastWhenAClientSetItMakesNoNodeLate(t *testing.T) {
	const day = Millis(24 * 60 * 60 * 1000)
	start := 10 * day
	for name, c := range map[string]struct {
		task Task
		want time.Duration
	}{
		"due after the create":        {Task{Name: "a", CreatedAt: 1, Due: start - 5}, 5 * time.Millisecond},
		"created with a past time":    {Task{Name: "a", Due: day, CreatedAt: start - 7}, 7 * time.Millisecond},
		"moved to a past time":        {Task{Name: "a", Due: day, CreatedAt: 2 * day, ChangedAt: start - 9}, 9 * time.Millisecond},
		"changed before its due time": {Task{Name: "a", Due: start - 5, CreatedAt: 1, ChangedAt: day}, 5 * time.Millisecond},
		"an instant that fired late":  {Task{Name: OccurrenceName("a", start-5000), Due: start - 5000, CreatedAt: start}, 5 * time.Second},
	} {
		d := Delivery{Task: &c.task}
		if got := d.Late(start.Time()); got != c.want {
			t.Errorf("%s: late by %v, want %v", name, got, c.want)
		}
	}
}
