package cron

import (
	"cmp"
	"errors"
	"strings"
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/cli/flags"
	"github.com/foliot/foliot/internal/cli/transfer"
	"github.com/foliot/foliot/internal/cli/wording"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/task/recurrence"
	"github.com/foliot/foliot/internal/usage"
)

// lineFlags set properties of the schedules that the lines of a crontab cannot
// express.
type lineFlags struct {
	Timeout     string   `placeholder:"DURATION" help:"The time limit of one attempt, for lines without curl --max-time (default: the queue's, or 15s)."`
	Overlap     string   `placeholder:"allow|skip|buffer_one" help:"If a task of the schedule is unfinished at an instant, or waits for a retry: create another, create none, or create one when it has ended (default: allow)."`
	Misfire     string   `placeholder:"fire_once|skip|fire_all" help:"For instants that were missed, for example while no server was running: create a task for the latest, for none, or for each (default: fire_once)."`
	ExpireAfter string   `placeholder:"DURATION" help:"Start no attempt later than this after the due time; 0s: no limit (default: the queue's, or no limit)."`
	Queue       string   `placeholder:"NAME" complete:"queue" help:"The queue of the tasks (default: default)."`
	OnDead      *string  `placeholder:"URL" help:"Call this URL, with a task of its own, when a task dies; an empty value: no call (default: the queue's, or no call)."`
	Label       []string `sep:"none" placeholder:"KEY=VALUE" help:"Label the tasks. Repeat it for more."`
}

// spec returns a schedule with only the fields that the flags set. It returns
// an error for values that the server would refuse.
func (f *lineFlags) spec(now time.Time) (s client.ScheduleSpec, err error) {
	if _, ok := recurrence.ParseMisfire(f.Misfire); !ok && f.Misfire != "" {
		return s, usage.Errorf("--misfire", "%q is not one of fire_once, skip, fire_all", f.Misfire)
	}
	if _, ok := recurrence.ParseOverlap(f.Overlap); !ok && f.Overlap != "" {
		return s, usage.Errorf("--overlap", "%q is not one of allow, skip, buffer_one", f.Overlap)
	}
	s.Misfire, s.Overlap, s.Task.Queue = client.Misfire(f.Misfire), client.Overlap(f.Overlap), f.Queue
	if err := (&flags.Task{Timeout: f.Timeout, ExpireAfter: f.ExpireAfter}).Durations(&s.Task); err != nil {
		return s, err
	}
	if f.OnDead != nil {
		s.Task.OnDead = cmp.Or(client.NotifyURL(*f.OnDead), client.NoDeadNotice)
	}
	if s.Task.Labels, err = flags.ParseLabels(f.Label); err != nil {
		return s, err
	}
	return s, refuseFlags(s, now)
}

// refuseFlags returns the error of the server for the flags, tested with a
// valid line.
func refuseFlags(s client.ScheduleSpec, now time.Time) error {
	p := plannedSchedule{name: "line", spec: s}
	p.spec.Every = time.Hour
	p.spec.Task.HTTP = client.HTTP{URL: "http://127.0.0.1/", Method: task.DefaultMethod}
	err := p.refusal(now)
	var field *task.FieldError
	if !errors.As(err, &field) {
		return err
	}
	place := wording.FlagName(wording.FieldName(field.Path))
	if key, ok := strings.CutPrefix(field.Path, "task.labels"); ok {
		place = strings.TrimSpace("--label " + strings.TrimPrefix(key, "."))
	}
	return usage.Errorf(place, "%s", field.Detail)
}

// mergeInto returns an existing schedule with the fields that the line and the
// flags set. The other fields stay, because a user may have changed them since.
func (p *plannedSchedule) mergeInto(s *client.Schedule) client.ScheduleSpec {
	spec, set := transfer.LineOf(s).Spec, p.spec
	spec.Paused = nil // keep the state
	zone := set.TimeZone
	if p.noZone {
		zone = cmp.Or(spec.TimeZone, zone) // a period has none
	}
	spec.Cron, spec.TimeZone, spec.Every = set.Cron, zone, set.Every
	if spec.Every != 0 {
		spec.DSTGap, spec.DSTOverlap = "", ""
	}
	spec.Misfire, spec.Overlap = cmp.Or(set.Misfire, spec.Misfire), cmp.Or(set.Overlap, spec.Overlap)
	spec.Task.HTTP, spec.Task.Work = set.Task.HTTP, client.Work{}
	spec.Task.Timeout = cmp.Or(set.Task.Timeout, spec.Task.Timeout)
	spec.Task.ExpireAfter = cmp.Or(set.Task.ExpireAfter, spec.Task.ExpireAfter)
	spec.Task.OnDead = cmp.Or(set.Task.OnDead, spec.Task.OnDead)
	spec.Task.Queue = cmp.Or(set.Task.Queue, spec.Task.Queue)
	spec.Task.Labels = allLabels(spec.Task.Labels, set.Task.Labels)
	return spec
}

// matches reports whether a schedule already has all that the line and the
// flags set.
func (p *plannedSchedule) matches(s *client.Schedule) bool {
	old, planned := transfer.LineOf(s).Spec, p.mergeInto(s)
	return old.Cron == planned.Cron && old.TimeZone == planned.TimeZone && old.Every == planned.Every &&
		old.Misfire == planned.Misfire && old.Overlap == planned.Overlap && sameTask(old.Task, planned.Task)
}
