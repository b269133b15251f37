package cli

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/cron"
	"github.com/foliot/foliot/internal/crontab"
	"github.com/foliot/foliot/internal/task"
)

// plannedSchedule is what a line of a crontab becomes.
type plannedSchedule struct {
	line int
	name string
	spec client.ScheduleSpec
	open bool // nobody has said whose clocks its expression is about
}

// plan returns what the lines of a crontab become, and those that cannot be taken, in
// their order. What the server would refuse is found here, before anything is made.
func plan(table crontab.Table, zone string, flags client.ScheduleSpec, now time.Time) (planned []plannedSchedule, errs []crontab.Note) {
	errs = slices.Clone(table.Errors)
	for _, e := range table.Entries {
		p := planOf(e, zone, flags)
		if err := p.check(now); err != nil {
			errs = append(errs, crontab.Note{Line: e.Line, Text: err.Error()})
			continue
		}
		planned = append(planned, p)
	}
	slices.SortStableFunc(errs, func(a, b crontab.Note) int { return a.Line - b.Line })
	return planned, errs
}

// planOf returns what a line becomes. What it says itself is stronger than the flags.
func planOf(e crontab.Entry, zone string, flags client.ScheduleSpec) plannedSchedule {
	r := e.Request
	p := plannedSchedule{line: e.Line, name: e.Name, spec: flags}
	p.spec.Task.HTTP = client.HTTP{URL: r.URL, Method: cmp.Or(r.Method, task.DefaultMethod), Headers: r.Headers}
	p.spec.Task.Timeout = cmp.Or(r.Timeout, flags.Task.Timeout)
	if r.Alone {
		p.spec.Overlap = client.SkipOverlap
	}
	if r.Body != "" {
		p.spec.Task.HTTP.Body = client.Text(r.Body)
	}
	if expr, err := cron.Parse(e.When); err == nil {
		p.spec.Every, _ = expr.Every()
	}
	if p.spec.Every == 0 {
		p.spec.Cron, p.spec.TimeZone = e.When, cmp.Or(e.Zone, zone, task.DefaultZone)
		p.open = e.Zone == "" && zone == ""
	}
	return p
}

// rule returns the schedule's rule, as the server takes it.
func (p *plannedSchedule) rule(now time.Time) task.Rule {
	r := task.Rule{
		Cron: p.spec.Cron, Zone: p.spec.TimeZone, Every: p.spec.Every,
		CatchupWindow: task.DefaultCatchupWindow, CatchupLimit: task.DefaultCatchupLimit,
	}
	if r.Every != 0 {
		r.Anchor = task.CeilMillis(now)
	}
	return r
}

// refusal returns what the server would say against the schedule: a *task.FieldError, or nil.
func (p *plannedSchedule) refusal(now time.Time) error {
	t := p.spec.Task
	s := task.ScheduleSpec{Spec: task.DefaultSpec(), Rule: p.rule(now)}
	s.Name = p.name
	s.Request = task.Request{URL: t.HTTP.URL, Method: t.HTTP.Method, Headers: t.HTTP.Headers}
	s.Timeout, s.Queue, s.Labels = cmp.Or(t.Timeout, s.Timeout), cmp.Or(t.Queue, s.Queue), t.Labels
	if t.ExpireAfter != client.Forever {
		s.ExpireAfter = time.Duration(t.ExpireAfter)
	}
	s.OnDead = t.OnDead.URL()
	return s.Validate(task.CeilMillis(now))
}

// Check says what the server would, in the words of a line.
func (p *plannedSchedule) check(now time.Time) error {
	err := p.refusal(now)
	var field *task.FieldError
	switch {
	case !errors.As(err, &field):
		return err
	case field.Path == "name":
		return fmt.Errorf("the name %q: %s", p.name, field.Detail)
	}
	return errors.New(lastOf(field.Path) + ": " + field.Detail)
}

// next returns the first instant after now.
func (p *plannedSchedule) next(now time.Time) time.Time {
	rule := p.rule(now)
	list, err := rule.Instants(task.CeilMillis(now)+1, task.Never, 1)
	if err != nil || len(list) == 0 {
		return time.Time{}
	}
	return list[0].Time()
}

// words is when it fires, as a sentence.
func (p *plannedSchedule) words() string {
	expr, err := cron.Parse(cmp.Or(p.spec.Cron, "@every "+p.spec.Every.String()))
	switch {
	case err != nil: // never: it was parsed before
		return p.spec.Cron
	case p.spec.Every != 0:
		return expr.Words()
	}
	return expr.Words() + ", " + p.spec.TimeZone
}

// sameTask reports whether two schedules make the same tasks, as far as an import says what they are.
func sameTask(a, b client.Spec) bool {
	return a.HTTP.URL == b.HTTP.URL && a.HTTP.Method == b.HTTP.Method && maps.Equal(a.HTTP.Headers, b.HTTP.Headers) &&
		string(a.HTTP.Body.Bytes()) == string(b.HTTP.Body.Bytes()) &&
		a.Timeout == b.Timeout && a.ExpireAfter == b.ExpireAfter && a.OnDead == b.OnDead && a.Queue == b.Queue &&
		maps.Equal(a.Labels, b.Labels)
}

// allLabels returns labels with more, which is stronger.
func allLabels(labels, more map[string]string) map[string]string {
	all := maps.Clone(labels)
	if all == nil {
		return more
	}
	maps.Copy(all, more)
	return all
}
