package task

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/task/recurrence"
)

// TestScheduleValidation: each row breaks one thing, and the error names it. A
// row without a code is allowed.
func TestScheduleValidation(t *testing.T) {
	cron := func(expr, zone string) func(*ScheduleSpec) {
		return rule(func(r *recurrence.Rule) { r.Every, r.Cron, r.Zone = 0, expr, zone })
	}
	every := func(d time.Duration) func(*ScheduleSpec) { return rule(func(r *recurrence.Rule) { r.Every = d }) }
	for _, c := range []struct {
		name string
		edit func(*ScheduleSpec)
		path string
		code string
	}{
		{"the default with every", func(*ScheduleSpec) {}, "", ""},

		{"no name", func(s *ScheduleSpec) { s.Name = "" }, "name", "bad_name"},
		{"the sign of occurrences", func(s *ScheduleSpec) { s.Name = "a@b" }, "name", "bad_name"},
		{"longest name", func(s *ScheduleSpec) { s.Name = strings.Repeat("a", MaxScheduleName) }, "", ""},
		{"name too long for an occurrence's", func(s *ScheduleSpec) { s.Name = strings.Repeat("a", MaxScheduleName+1) }, "name", "bad_name"},

		{"no rule", every(0), "cron", "required"},
		{"two rules", rule(func(r *recurrence.Rule) { r.Cron, r.Zone = "* * * * *", "UTC" }), "every", "conflict"},
		{"a zone without cron", rule(func(r *recurrence.Rule) { r.Zone = "UTC" }), "timezone", "conflict"},
		{"shortest every", every(time.Second), "", ""},
		{"every too short", every(time.Second - time.Millisecond), "every", "out_of_range"},
		{"every below a millisecond", every(time.Second + time.Microsecond), "every", "out_of_range"},
		{"negative every", every(-time.Minute), "every", "out_of_range"},
		{"longest every", every(MaxDuration), "", ""},
		{"every too long", every(MaxDuration + time.Millisecond), "every", "out_of_range"},

		{"cron", cron("0 21 * * MON-FRI", "Europe/Berlin"), "", ""},
		{"cron with seconds", cron("*/10 * * * * *", "UTC"), "", ""},
		{"no expression", cron("nine in the evening", "UTC"), "cron", "bad_cron"},
		{"a day that no month has", cron("0 0 30 2 *", "UTC"), "cron", "bad_cron"},
		{"no zone", cron("0 21 * * *", ""), "timezone", "bad_timezone"},
		{"an unknown zone", cron("0 21 * * *", "Europe/Bärlin"), "timezone", "bad_timezone"},
		{"the machine's own zone", cron("0 21 * * *", "Local"), "timezone", "bad_timezone"},

		{"earliest start", rule(func(r *recurrence.Rule) { r.Start = 1 }), "", ""},
		{"start before 1970", rule(func(r *recurrence.Rule) { r.Start = -1 }), "start", "out_of_range"},
		{"latest start", rule(func(r *recurrence.Rule) { r.Start = latest(scheduleStart) }), "", ""},
		{"start too late", rule(func(r *recurrence.Rule) { r.Start = latest(scheduleStart) + 1 }), "start", "out_of_range"},
		{"start and end at one instant", rule(func(r *recurrence.Rule) { r.Start, r.End = sec(60), sec(60) }), "", ""},
		{"end before start", rule(func(r *recurrence.Rule) { r.Start, r.End = sec(120), sec(60) }), "end", "out_of_range"},
		{"end before 1970", rule(func(r *recurrence.Rule) { r.End = -1 }), "end", "out_of_range"},
		{"latest end", rule(func(r *recurrence.Rule) { r.End = recurrence.LastInstant }), "", ""},
		{"an end of five digits", rule(func(r *recurrence.Rule) { r.End = recurrence.LastInstant + 1 }), "end", "out_of_range"},

		{"negative runs", rule(func(r *recurrence.Rule) { r.MaxRuns = -1 }), "max_runs", "out_of_range"},
		{"most runs", rule(func(r *recurrence.Rule) { r.MaxRuns = math.MaxInt64 }), "", ""},
		{"negative jitter", rule(func(r *recurrence.Rule) { r.Jitter = -1 }), "jitter", "out_of_range"},
		{"longest jitter", rule(func(r *recurrence.Rule) { r.Jitter = recurrence.MaxJitter }), "", ""},
		{"jitter too long", rule(func(r *recurrence.Rule) { r.Jitter = recurrence.MaxJitter + 1 }), "jitter", "out_of_range"},
		{"no window", rule(func(r *recurrence.Rule) { r.CatchupWindow = 0 }), "", ""},
		{"negative window", rule(func(r *recurrence.Rule) { r.CatchupWindow = -1 }), "catchup_window", "out_of_range"},
		{"window too long", rule(func(r *recurrence.Rule) { r.CatchupWindow = MaxDuration + 1 }), "catchup_window", "out_of_range"},
		{"no limit", rule(func(r *recurrence.Rule) { r.CatchupLimit = 0 }), "catchup_limit", "out_of_range"},
		{"greatest limit", rule(func(r *recurrence.Rule) { r.CatchupLimit = recurrence.MaxCatchupLimit }), "", ""},
		{"limit too great", rule(func(r *recurrence.Rule) { r.CatchupLimit = recurrence.MaxCatchupLimit + 1 }), "catchup_limit", "out_of_range"},

		{"a task without a URL", func(s *ScheduleSpec) { s.Request.URL = "" }, "task.http.url", "required"},
		{"a task with a bad label", func(s *ScheduleSpec) { s.Labels = map[string]string{"": "v"} }, "task.labels.", "bad_label"},
		{"a task in no queue", func(s *ScheduleSpec) { s.Queue = "" }, "task.queue", "bad_name"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := everySpec(time.Minute)
			c.edit(&s)
			if err := wantField(s.Validate(scheduleStart), c.path, c.code); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestTheLongestOccurrenceNameIsValid: clients can get any occurrence by its
// name.
func TestTheLongestOccurrenceNameIsValid(t *testing.T) {
	name := OccurrenceName(strings.Repeat("a", MaxScheduleName), Never) + ".b01234567"
	if err := ValidateRecordName("name", name); err != nil {
		t.Error(err)
	}
}
