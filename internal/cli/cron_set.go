package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/usage"
)

// cronSetCmd changes the given fields of a schedule and keeps the others.
type cronSetCmd struct {
	Name string `arg:"" help:"The schedule's name."`

	Cron string `placeholder:"EXPRESSION" help:"When, in quotes, as in foliot cron add. It takes the place of --every."`
	URL  string `name:"url" placeholder:"URL" help:"The URL to call."`

	ruleFlags
	taskFlags
}

// Help shows examples below the usage line.
func (cronSetCmd) Help() string {
	return `Changes what is given and leaves the rest as it is. An empty value gives a field its default again. --header and --label change those of the same
name and leave the others. The schedule keeps its runs and its pause, and what has fired does not fire again; tasks that it has made stay as they are.
It prints when the schedule fires, as foliot cron add does.

Examples:

    foliot cron set nightly --cron '0 22 * * MON-FRI'
    foliot cron set nightly --timeout 10m --overlap skip
    foliot cron set nightly --url https://shop.example/report --end ''`
}

// Run reads the schedule, changes it, and writes it in the version that was read.
func (c *cronSetCmd) Run(ctx context.Context, con *console, api *client.Client, parsed *kong.Context) error {
	if err := checkSchedules(c.Name); err != nil {
		return err
	}
	given := c.given(parsed)
	if len(given) == 0 {
		return usage.Errorf("--cron, --url, …", "no field to change; `foliot cron set --help` lists the flags")
	}
	old, err := api.Schedules.Get(ctx, c.Name)
	if err != nil {
		return err
	}
	spec, err := c.over(old, given, con.in, time.Now())
	if err != nil {
		return err
	}
	s, err := api.Schedules.Put(ctx, c.Name, spec, client.IfMatch(old.ETag()))
	if errors.Is(err, client.ErrPrecondition) {
		return &fault{exitConflict, fmt.Errorf("set %s: another client has just changed the schedule: look at it with `foliot cron get`, and try again", c.Name)}
	}
	if err != nil {
		return renamed(err, "set "+c.Name)
	}
	return sayPut(ctx, con, api, s)
}

// given returns the fields with a flag on the command line.
func (c *cronSetCmd) given(parsed *kong.Context) []scheduleField {
	var given []scheduleField
	for _, field := range scheduleFields {
		for _, p := range parsed.Path {
			if p.Flag != nil && !p.Resolved && p.Flag.Name == field.flag {
				given = append(given, field)
				break
			}
		}
	}
	return given
}

// over returns a schedule with the fields that are given.
func (c *cronSetCmd) over(old *client.Schedule, given []scheduleField, stdin io.Reader, now time.Time) (spec client.ScheduleSpec, err error) {
	spec = lineOf(old).spec
	spec.Paused = nil // as it is
	flags := c.ruleFlags
	if flags.Start != "" || flags.End != "" { // a date is a midnight of the schedule's clocks
		flags.Timezone = cmp.Or(flags.Timezone, spec.TimeZone)
	}
	var said client.ScheduleSpec
	if err := setCron(&said, "--cron", c.Cron); err != nil {
		return spec, err
	}
	if err := flags.fill(&said, now); err != nil {
		return spec, err
	}
	if said.Task, err = c.spec(cmp.Or(c.URL, spec.Task.HTTP.URL), stdin); err != nil {
		return spec, err
	}
	for _, field := range given {
		field.set(&spec, &said)
	}
	return spec, c.checkRule(given)
}

// checkRule refuses values that leave a schedule without a rule or a URL.
func (c *cronSetCmd) checkRule(given []scheduleField) error {
	values := map[string]string{"cron": c.Cron, "every": c.Every, "url": c.URL}
	for _, field := range given {
		if value, must := values[field.flag]; must && value == "" {
			return usage.Errorf("--"+field.flag, "it is empty, and a schedule needs one")
		}
	}
	if c.Cron != "" && c.Every != "" {
		return usage.Errorf("--cron, --every", "give one of them, not both")
	}
	return nil
}

// scheduleField is a flag of foliot cron set, and how it changes a schedule.
type scheduleField struct {
	flag string
	set  func(s, said *client.ScheduleSpec)
}

// scheduleFields has every flag of the command. The rule comes first: --every
// takes away what belongs to an expression.
var scheduleFields = []scheduleField{
	{"cron", func(s, said *client.ScheduleSpec) { s.Cron, s.Every = said.Cron, 0 }},
	{"every", func(s, said *client.ScheduleSpec) {
		s.Every, s.Cron, s.TimeZone, s.DSTGap, s.DSTOverlap = said.Every, "", "", "", ""
	}},
	{"timezone", func(s, said *client.ScheduleSpec) { s.TimeZone = said.TimeZone }},
	{"dst-gap", func(s, said *client.ScheduleSpec) { s.DSTGap = said.DSTGap }},
	{"dst-overlap", func(s, said *client.ScheduleSpec) { s.DSTOverlap = said.DSTOverlap }},
	{"start", func(s, said *client.ScheduleSpec) { s.Start = said.Start }},
	{"end", func(s, said *client.ScheduleSpec) { s.End = said.End }},
	{"max-runs", func(s, said *client.ScheduleSpec) { s.MaxRuns = said.MaxRuns }},
	{"jitter", func(s, said *client.ScheduleSpec) { s.Jitter = said.Jitter }},
	{"misfire", func(s, said *client.ScheduleSpec) { s.Misfire = said.Misfire }},
	{"catchup-window", func(s, said *client.ScheduleSpec) { s.CatchupWindow = said.CatchupWindow }},
	{"catchup-limit", func(s, said *client.ScheduleSpec) { s.CatchupLimit = said.CatchupLimit }},
	{"overlap", func(s, said *client.ScheduleSpec) { s.Overlap = said.Overlap }},

	{"url", func(s, said *client.ScheduleSpec) { s.Task.HTTP.URL = said.Task.HTTP.URL }},
	{"method", func(s, said *client.ScheduleSpec) { s.Task.HTTP.Method = said.Task.HTTP.Method }},
	{"header", func(s, said *client.ScheduleSpec) {
		s.Task.HTTP.Headers = allHeaders(s.Task.HTTP.Headers, said.Task.HTTP.Headers)
	}},
	{"data", func(s, said *client.ScheduleSpec) { s.Task.HTTP.Body = said.Task.HTTP.Body }},
	{"json", func(s, said *client.ScheduleSpec) { s.Task.HTTP.Body = said.Task.HTTP.Body }},
	{"queue", func(s, said *client.ScheduleSpec) { s.Task.Queue = said.Task.Queue }},
	{"priority", func(s, said *client.ScheduleSpec) { s.Task.Priority = said.Task.Priority }},
	{"label", func(s, said *client.ScheduleSpec) { s.Task.Labels = allLabels(s.Task.Labels, said.Task.Labels) }},
	{"timeout", func(s, said *client.ScheduleSpec) { s.Task.Timeout = said.Task.Timeout }},
	{"expire-after", func(s, said *client.ScheduleSpec) { s.Task.ExpireAfter = said.Task.ExpireAfter }},
	{"max-attempts", func(s, said *client.ScheduleSpec) { s.Task.Retry.MaxAttempts = said.Task.Retry.MaxAttempts }},
	{"min-backoff", func(s, said *client.ScheduleSpec) { s.Task.Retry.MinBackoff = said.Task.Retry.MinBackoff }},
	{"max-backoff", func(s, said *client.ScheduleSpec) { s.Task.Retry.MaxBackoff = said.Task.Retry.MaxBackoff }},
	{"max-age", func(s, said *client.ScheduleSpec) { s.Task.Retry.MaxAge = said.Task.Retry.MaxAge }},
	{"on-dead", func(s, said *client.ScheduleSpec) { s.Task.OnDead = said.Task.OnDead }},
}

// allHeaders returns headers with more, which is stronger. Names ignore case.
func allHeaders(headers, more map[string]string) map[string]string {
	all := maps.Clone(headers)
	for name := range more {
		maps.DeleteFunc(all, func(old, _ string) bool { return strings.EqualFold(old, name) })
	}
	return allLabels(all, more)
}
