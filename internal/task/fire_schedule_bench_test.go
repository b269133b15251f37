package task

import (
	"testing"
	"time"

	"github.com/foliot/foliot/internal/task/recurrence"
)

// BenchmarkFire measures one Fire.Apply, either of an instant that has just
// come or of the instants missed during an absence. A store runs it for each
// instant, in its only writer.
func BenchmarkFire(b *testing.B) {
	cron := func(expr string) func(*recurrence.Rule) {
		return func(r *recurrence.Rule) { r.Cron, r.Zone, r.Every = expr, "Europe/Berlin", 0 }
	}
	for _, c := range []struct {
		name string
		edit func(*recurrence.Rule)
		late time.Duration
	}{
		{"every", func(*recurrence.Rule) {}, 0},
		{"each minute", cron("* * * * *"), 0},
		{"each night", cron("0 21 * * MON-FRI"), 0},
		{"each minute, fire_all", func(r *recurrence.Rule) { cron("* * * * *")(r); r.Misfire = recurrence.FireAll }, 0},
		{"each minute, a buffered overlap", func(r *recurrence.Rule) { cron("* * * * *")(r); r.Overlap = recurrence.BufferOne }, 0},
		{"two weeks late", func(*recurrence.Rule) {}, 14 * 24 * time.Hour},
		{"each minute, two weeks late", cron("* * * * *"), 14 * 24 * time.Hour},
		{"each minute, two weeks late, fire_all", func(r *recurrence.Rule) {
			cron("* * * * *")(r)
			r.Misfire, r.CatchupWindow = recurrence.FireAll, MaxDuration
		}, 14 * 24 * time.Hour},
		{"each minute, two weeks late, fire_all of 10,000", func(r *recurrence.Rule) {
			cron("* * * * *")(r)
			r.Misfire, r.CatchupWindow, r.CatchupLimit = recurrence.FireAll, MaxDuration, recurrence.MaxCatchupLimit
		}, 14 * 24 * time.Hour},
	} {
		b.Run(c.name, func(b *testing.B) {
			spec := everySpec(5*time.Second, rule(c.edit))
			if err := spec.Validate(scheduleStart); err != nil {
				b.Fatal(err)
			}
			r, err := PutSchedule{Spec: spec}.Apply(scheduleStart, nil, Facts{})
			if err != nil {
				b.Fatal(err)
			}
			s := r.Task
			if r, err = (Fire{}).Apply(s.Due, s, Facts{}); err != nil { // the first span is there
				b.Fatal(err)
			}
			s = r.Task
			now := s.Due.Add(c.late)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := (Fire{}).Apply(now, s, Facts{Unfinished: 1}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
