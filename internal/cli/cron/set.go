package cron

import (
	"cmp"
	"context"
	"errors"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/cli/console"
	"github.com/foliot/foliot/internal/cli/exit"
	"github.com/foliot/foliot/internal/cli/flags"
	"github.com/foliot/foliot/internal/cli/transfer"
	"github.com/foliot/foliot/internal/usage"
)

// setCmd changes the given fields of a schedule and keeps all other fields.
type setCmd struct {
	Name string `arg:"" help:"The schedule's name."`

	Cron string `placeholder:"EXPRESSION" help:"The expression, in quotes, as in foliot cron add. It replaces --every."`
	URL  string `name:"url" placeholder:"URL" help:"The URL to call. It replaces --kind."`

	Paused *bool `negatable:"" help:"Pause the schedule: it creates no tasks until --no-paused, and then continues with its next instant."`

	ruleFlags
	flags.Task
}

func (setCmd) Help() string {
	return `Changes the given fields of a schedule and keeps the others. An empty value resets a field to its default. --header and --label
change headers and labels with the same name, and keep the others. The schedule keeps its number of runs. Instants that have
fired do not fire again, and existing tasks do not change. The command prints when the schedule fires, as foliot cron add does.

A pause survives a restart. Its instants create no tasks; foliot cron backfill creates them later.

Examples:

    foliot cron set nightly --cron '0 22 * * MON-FRI'
    foliot cron set nightly --timeout 10m --overlap skip
    foliot cron set nightly --url https://shop.example/report --end ''
    foliot cron set cleanup --args '{"days": 7}'
    foliot cron set cleanup --paused`
}

// Run reads the schedule, changes it and writes it, unless another client has
// changed it since.
func (c *setCmd) Run(ctx context.Context, con *console.Console, api *client.Client, parsed *kong.Context) error {
	given := c.given(parsed)
	switch {
	case len(given) == 0:
		return usage.Errorf("--cron, --url, …", "no field to change; `foliot cron set --help` lists the flags")
	case c.Cron != "" && c.Every != "":
		return usage.Errorf("--cron, --every", "pass only one of them")
	}
	old, err := api.Schedules.Get(ctx, c.Name)
	if err != nil {
		return err
	}
	spec, err := c.change(old, given, con.In, time.Now())
	if err != nil {
		return err
	}
	s, err := api.Schedules.Put(ctx, c.Name, spec, client.IfMatch(old.ETag()))
	if errors.Is(err, client.ErrPrecondition) {
		return exit.Reword(err, "set %s: another client has just changed the schedule: check it with `foliot cron get`, and retry", c.Name)
	}
	if err != nil {
		return exit.WithOp(err, "set "+c.Name)
	}
	return printPut(ctx, con, api, s)
}

// given returns the flags of fields on the command line. Those that remove other
// fields come first.
func (c *setCmd) given(parsed *kong.Context) (given []string) {
	for _, first := range []bool{true, false} {
		for _, p := range parsed.Path {
			if p.Flag == nil || p.Resolved || !CanReset(p.Flag.Name) || slices.Contains(given, p.Flag.Name) {
				continue
			}
			if slices.Contains([]string{"cron", "every", "url", "kind"}, p.Flag.Name) == first {
				given = append(given, p.Flag.Name)
			}
		}
	}
	return given
}

func (c *setCmd) change(old *client.Schedule, given []string, stdin io.Reader, now time.Time) (spec client.ScheduleSpec, err error) {
	spec = transfer.LineOf(old).Spec
	spec.Paused = c.Paused // nil keeps the state
	flags := c.ruleFlags
	if flags.Start != "" || flags.End != "" { // a date means midnight in the schedule's zone
		flags.TimeZone = cmp.Or(flags.TimeZone, spec.TimeZone)
	}
	changes := client.ScheduleSpec{Paused: c.Paused, Cron: c.Cron}
	if err := flags.fill(&changes, now); err != nil {
		return spec, err
	}
	address, task := c.URL, c.Task
	if c.URL == "" && c.Kind == "" {
		address, task.Kind = spec.Task.HTTP.URL, spec.Task.Work.Kind
	}
	if changes.Task, err = task.Spec(address, stdin); err != nil {
		return spec, err
	}
	changes.Task.HTTP.URL, changes.Task.Work.Kind = c.URL, c.Kind
	for _, flag := range given {
		if set := fieldsWithRules[flag]; set != nil {
			set(&spec, &changes)
		} else {
			plainField(&spec, flag).Set(plainField(&changes, flag))
		}
	}
	return spec, nil
}

// CanReset reports whether an empty value of this flag of foliot cron set
// resets a field to its default.
func CanReset(flag string) bool {
	return fieldsWithRules[flag] != nil || plainField(new(client.ScheduleSpec), flag).IsValid()
}

// plainField returns the field with the name of a flag. It is not valid if there is
// none.
func plainField(s *client.ScheduleSpec, flag string) (field reflect.Value) {
	name := strings.ReplaceAll(flag, "-", "")
	for _, part := range []any{s, &s.Task, &s.Task.Retry} {
		field = reflect.ValueOf(part).Elem().FieldByNameFunc(func(n string) bool { return strings.EqualFold(n, name) })
		if field.IsValid() {
			break
		}
	}
	return field
}

// fieldsWithRules has the flags that do more than to set the field of their name.
// Each function copies the field from changes to s.
var fieldsWithRules = map[string]func(s, changes *client.ScheduleSpec){
	"cron": func(s, changes *client.ScheduleSpec) { s.Cron, s.Every = changes.Cron, 0 },
	"every": func(s, changes *client.ScheduleSpec) {
		s.Every, s.Cron, s.TimeZone, s.DSTGap, s.DSTOverlap = changes.Every, "", "", "", ""
	},
	"url": func(s, changes *client.ScheduleSpec) {
		s.Task.HTTP.URL, s.Task.Work = changes.Task.HTTP.URL, client.Work{}
	},
	"kind": func(s, changes *client.ScheduleSpec) {
		s.Task.Work.Kind, s.Task.HTTP = changes.Task.Work.Kind, client.HTTP{}
	},
	"args":   func(s, changes *client.ScheduleSpec) { s.Task.Work.Args = changes.Task.Work.Args },
	"method": func(s, changes *client.ScheduleSpec) { s.Task.HTTP.Method = changes.Task.HTTP.Method },
	"header": func(s, changes *client.ScheduleSpec) {
		s.Task.HTTP.Headers = allHeaders(s.Task.HTTP.Headers, changes.Task.HTTP.Headers)
	},
	"data":  func(s, changes *client.ScheduleSpec) { s.Task.HTTP.Body = changes.Task.HTTP.Body },
	"json":  func(s, changes *client.ScheduleSpec) { s.Task.HTTP.Body = changes.Task.HTTP.Body },
	"label": func(s, changes *client.ScheduleSpec) { s.Task.Labels = allLabels(s.Task.Labels, changes.Task.Labels) },
}

// allHeaders returns headers and more. Names in more override names in headers,
// ignoring case.
func allHeaders(headers, more map[string]string) map[string]string {
	all := maps.Clone(headers)
	for name := range more {
		maps.DeleteFunc(all, func(old, _ string) bool { return strings.EqualFold(old, name) })
	}
	return allLabels(all, more)
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
