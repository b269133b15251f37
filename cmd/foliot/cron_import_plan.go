package main

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
func plan(table crontab.Table, zone string, now time.Time) (planned []plannedSchedule, errs []crontab.Note) {
	errs = slices.Clone(table.Errors)
	for _, e := range table.Entries {
		p := planOf(e, zone)
		if err := p.check(now); err != nil {
			errs = append(errs, crontab.Note{Line: e.Line, Text: err.Error()})
			continue
		}
		planned = append(planned, p)
	}
	slices.SortStableFunc(errs, func(a, b crontab.Note) int { return a.Line - b.Line })
	return planned, errs
}

func planOf(e crontab.Entry, zone string) plannedSchedule {
	r := e.Request
	p := plannedSchedule{line: e.Line, name: e.Name}
	p.spec.Task = client.Spec{
		HTTP:    client.HTTP{URL: r.URL, Method: cmp.Or(r.Method, task.DefaultMethod), Headers: r.Headers},
		Timeout: r.Timeout,
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
	return task.Rule{
		Cron: p.spec.Cron, Zone: p.spec.TimeZone, Every: p.spec.Every, Anchor: task.CeilMillis(now),
		CatchupWindow: task.DefaultCatchupWindow, CatchupLimit: task.DefaultCatchupLimit,
	}
}

// check returns what the server would say against the schedule.
func (p *plannedSchedule) check(now time.Time) error {
	t := p.spec.Task
	s := task.ScheduleSpec{Spec: task.DefaultSpec(), Rule: p.rule(now)}
	s.Name = p.name
	s.Request = task.Request{URL: t.HTTP.URL, Method: t.HTTP.Method, Headers: t.HTTP.Headers}
	s.Timeout = cmp.Or(t.Timeout, s.Timeout)
	err := s.Validate(task.CeilMillis(now))
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

// over returns a schedule that is there with what the line says. The rest of it stays:
// somebody may have given it a queue since.
func (p *plannedSchedule) over(s *client.Schedule) client.ScheduleSpec {
	spec := lineOf(s).spec
	spec.Paused = nil // as it is
	spec.Cron, spec.TimeZone, spec.Every = p.spec.Cron, p.spec.TimeZone, p.spec.Every
	if spec.Every != 0 {
		spec.DSTGap, spec.DSTOverlap = "", ""
	}
	spec.Task.HTTP = p.spec.Task.HTTP
	spec.Task.Timeout = cmp.Or(p.spec.Task.Timeout, spec.Task.Timeout)
	return spec
}

// isAs reports whether a schedule is what the line asks for.
func (p *plannedSchedule) isAs(s *client.Schedule) bool {
	want, is := p.spec.Task, s.Task
	return s.Cron == p.spec.Cron && s.TimeZone == p.spec.TimeZone && s.Every == p.spec.Every &&
		is.HTTP.URL == want.HTTP.URL && is.HTTP.Method == want.HTTP.Method && maps.Equal(is.HTTP.Headers, want.HTTP.Headers) &&
		string(is.HTTP.Body.Bytes()) == string(want.HTTP.Body.Bytes()) &&
		(want.Timeout == 0 || is.Timeout == want.Timeout)
}
