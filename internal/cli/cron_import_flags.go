package cli

import (
	"cmp"
	"errors"
	"strings"
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/usage"
)

// lineFlags say what the lines of a crontab cannot, of all schedules that they become.
type lineFlags struct {
	Timeout     string   `placeholder:"DURATION" help:"Of one attempt, where the line has no curl --max-time or timeout of its own (default: the queue's, or 15s)."`
	Overlap     string   `placeholder:"allow|skip|buffer_one" help:"At an instant while a task of the schedule is unfinished, be it that it waits for a retry: make another, make none, or make one when that has ended; a line with flock -n has skip (default: allow)."`
	Misfire     string   `placeholder:"fire_once|skip|fire_all" help:"Instants that passed while nobody could fire them: the latest makes a task, none does, or each does (default: fire_once)."`
	ExpireAfter string   `placeholder:"DURATION" help:"Do not start a task any more when it is this late; 0s: never (default: the queue's, or never)."`
	Queue       string   `placeholder:"NAME" help:"The queue of the tasks (default: default)."`
	OnDead      *string  `placeholder:"URL" help:"Called, by a task of its own, when one dies; an empty one: none (default: the queue's, or none)."`
	Label       []string `sep:"none" placeholder:"KEY=VALUE" help:"Label the tasks. Repeat it for more."`
}

// spec returns a schedule that has what the flags say, and nothing else. What the server
// would refuse of it is refused here.
func (f *lineFlags) spec(now time.Time) (s client.ScheduleSpec, err error) {
	if _, ok := task.ParseMisfire(f.Misfire); !ok && f.Misfire != "" {
		return s, usage.Errorf("--misfire", "%q is none of fire_once, skip, fire_all", f.Misfire)
	}
	if _, ok := task.ParseOverlap(f.Overlap); !ok && f.Overlap != "" {
		return s, usage.Errorf("--overlap", "%q is none of allow, skip, buffer_one", f.Overlap)
	}
	s.Misfire, s.Overlap, s.Task.Queue = client.Misfire(f.Misfire), client.Overlap(f.Overlap), f.Queue
	if err := (&taskFlags{Timeout: f.Timeout, ExpireAfter: f.ExpireAfter}).durations(&s.Task); err != nil {
		return s, err
	}
	if f.OnDead != nil {
		s.Task.OnDead = cmp.Or(client.NotifyURL(*f.OnDead), client.NoDeadNotice)
	}
	if s.Task.Labels, err = parseLabels(f.Label); err != nil {
		return s, err
	}
	return s, refuseFlags(s, now)
}

// refuseFlags returns what the server would say against a schedule whose line is good.
func refuseFlags(s client.ScheduleSpec, now time.Time) error {
	p := plannedSchedule{name: "line", spec: s}
	p.spec.Every = time.Hour
	p.spec.Task.HTTP = client.HTTP{URL: "http://127.0.0.1/", Method: task.DefaultMethod}
	err := p.refusal(now)
	var field *task.FieldError
	if !errors.As(err, &field) {
		return err
	}
	place := dashed(lastOf(field.Path))
	if key, ok := strings.CutPrefix(field.Path, "task.labels"); ok {
		place = strings.TrimSpace("--label " + strings.TrimPrefix(key, "."))
	}
	return usage.Errorf(place, "%s", field.Detail)
}

// over returns a schedule that is there with what the line and the flags say. The rest of
// it stays: somebody may have given it retries since.
func (p *plannedSchedule) over(s *client.Schedule) client.ScheduleSpec {
	spec, say := lineOf(s).spec, p.spec
	spec.Paused = nil // as it is
	spec.Cron, spec.TimeZone, spec.Every = say.Cron, say.TimeZone, say.Every
	if spec.Every != 0 {
		spec.DSTGap, spec.DSTOverlap = "", ""
	}
	spec.Misfire, spec.Overlap = cmp.Or(say.Misfire, spec.Misfire), cmp.Or(say.Overlap, spec.Overlap)
	spec.Task.HTTP = say.Task.HTTP
	spec.Task.Timeout = cmp.Or(say.Task.Timeout, spec.Task.Timeout)
	spec.Task.ExpireAfter = cmp.Or(say.Task.ExpireAfter, spec.Task.ExpireAfter)
	spec.Task.OnDead = cmp.Or(say.Task.OnDead, spec.Task.OnDead)
	spec.Task.Queue = cmp.Or(say.Task.Queue, spec.Task.Queue)
	spec.Task.Labels = allLabels(spec.Task.Labels, say.Task.Labels)
	return spec
}

// isAs reports whether a schedule is what the line and the flags ask for.
func (p *plannedSchedule) isAs(s *client.Schedule) bool {
	is, then := lineOf(s).spec, p.over(s)
	return is.Cron == then.Cron && is.TimeZone == then.TimeZone && is.Every == then.Every &&
		is.Misfire == then.Misfire && is.Overlap == then.Overlap && sameTask(is.Task, then.Task)
}
