package cron

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/cli/wording"
	"github.com/foliot/foliot/internal/cron"
	"github.com/foliot/foliot/internal/crontab"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/task/recurrence"
)

// plannedSchedule is the schedule that a line of a crontab becomes.
type plannedSchedule struct {
	line   int
	name   string
	spec   client.ScheduleSpec
	noZone bool // neither the crontab nor a flag sets the time zone
}

// plan returns the schedules that the lines of a crontab become, and the errors
// of the other lines, both in the order of the lines. It checks each schedule
// as the server would, before any schedule is created.
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

// planOf returns the schedule that a line becomes. The line overrides the
// flags.
func planOf(e crontab.Entry, zone string, flags client.ScheduleSpec) plannedSchedule {
	r := e.Request
	p := plannedSchedule{line: e.Line, name: e.Name, spec: flags}
	p.spec.Task.HTTP = client.HTTP{URL: r.URL, Method: cmp.Or(r.Method, task.DefaultMethod), Headers: r.Headers}
	p.spec.Task.Timeout = cmp.Or(r.Timeout, flags.Task.Timeout)
	if r.Body != "" {
		p.spec.Task.HTTP.Body = client.Text(r.Body)
	}
	if expr, err := cron.Parse(e.When); err == nil {
		p.spec.Every, _ = expr.Every()
	}
	if p.spec.Every == 0 {
		p.spec.Cron, p.spec.TimeZone = e.When, cmp.Or(e.Zone, zone, recurrence.DefaultZone)
		p.noZone = e.Zone == "" && zone == ""
	}
	return p
}

// rule returns the rule of the schedule in the form that the server uses.
func (p *plannedSchedule) rule(now time.Time) recurrence.Rule {
	r := recurrence.Rule{
		Cron: p.spec.Cron, Zone: p.spec.TimeZone, Every: p.spec.Every,
		CatchupWindow: recurrence.DefaultCatchupWindow, CatchupLimit: recurrence.DefaultCatchupLimit,
	}
	if r.Every != 0 {
		r.Anchor = task.CeilMillis(now)
	}
	return r
}

// refusal returns the *task.FieldError with which the server would refuse the
// schedule, or nil.
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

// check returns the error of refusal, worded for a line of a crontab.
func (p *plannedSchedule) check(now time.Time) error {
	err := p.refusal(now)
	var field *task.FieldError
	switch {
	case !errors.As(err, &field):
		return err
	case field.Path == "name":
		return fmt.Errorf("the name %q: %s", p.name, field.Detail)
	}
	return errors.New(wording.FieldName(field.Path) + ": " + field.Detail)
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

// words returns a sentence about when the schedule fires.
func (p *plannedSchedule) words() string {
	expr, err := cron.Parse(cmp.Or(p.spec.Cron, "@every "+p.spec.Every.String()))
	switch {
	case err != nil: // impossible: it was parsed before
		return p.spec.Cron
	case p.spec.Every != 0:
		return expr.Words()
	}
	return expr.Words() + ", " + p.spec.TimeZone
}

// sameTask reports whether two schedules create the same tasks, comparing only
// the fields that an import sets.
func sameTask(a, b client.Spec) bool {
	return a.HTTP.URL == b.HTTP.URL && a.HTTP.Method == b.HTTP.Method && maps.Equal(a.HTTP.Headers, b.HTTP.Headers) &&
		string(a.HTTP.Body.Bytes()) == string(b.HTTP.Body.Bytes()) &&
		a.Timeout == b.Timeout && a.ExpireAfter == b.ExpireAfter && a.OnDead == b.OnDead && a.Queue == b.Queue &&
		maps.Equal(a.Labels, b.Labels)
}

// allLabels returns labels and more. Keys in more override keys in labels.
func allLabels(labels, more map[string]string) map[string]string {
	all := maps.Clone(labels)
	if all == nil {
		return more
	}
	maps.Copy(all, more)
	return all
}
