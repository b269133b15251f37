package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/task"
)

// sayTask prints a task: the sentence, or the object with -o json.
func sayTask(con *console, t *client.Task, format string, args ...any) error {
	if con.json {
		return con.object(t)
	}
	con.sayf("%s", printable(fmt.Sprintf(format, args...)))
	return nil
}

// eachName does act to each name. One that fails is reported and does not keep
// the others back; the code of the first failure is the command's.
func eachName(ctx context.Context, con *console, names []string, act func(name string) error) error {
	if err := checkNames(names); err != nil {
		return err
	}
	if len(names) == 1 {
		return act(names[0])
	}
	var first error
	for _, name := range names {
		err := act(name)
		if err == nil {
			continue
		}
		if first == nil {
			first = &fault{exitCode(err), errSaid}
		}
		con.notef("foliot: %s", con.why(err))
		if ctx.Err() != nil || exitCode(err) == exitUnreachable {
			break // the rest would say the same
		}
	}
	return first
}

// manyFlags choose the tasks of a command that takes names or a filter.
type manyFlags struct {
	Names []string `arg:"" optional:"" name:"name" help:"The tasks' names."`

	filterFlags

	All bool `group:"filter" help:"Every task that the command applies to."`
}

// byFilter reports whether a filter chooses, and not names; exactly one must.
func (f manyFlags) byFilter() (bool, error) {
	filtered := f.given() || f.All
	switch {
	case len(f.Names) > 0 && filtered:
		return false, badInput("NAME", "give names or a filter, not both")
	case len(f.Names) == 0 && !filtered:
		return false, badInput("NAME", "give names, a filter such as --queue or --label, or --all")
	case f.All && f.given():
		return false, badInput("--all", "it goes without other filters")
	}
	return filtered, nil
}

// bulk does act to everything the filter chooses and prints what became of it.
func (f manyFlags) bulk(ctx context.Context, con *console, act func(context.Context, client.Filter) (client.Changed, error), done string) error {
	filter, err := f.filter(time.Now())
	if err != nil {
		return err
	}
	filter.All = f.All
	reply, err := act(ctx, filter)
	if err != nil {
		return err
	}
	if con.json {
		return con.object(reply)
	}
	con.sayf("%s %d%s", done, reply.Changed, bulkRest(reply))
	return nil
}

func bulkRest(r client.Changed) string {
	s := ""
	if r.Accepted > 0 {
		s += fmt.Sprintf(", %d after the attempt that is under way", r.Accepted)
	}
	if r.Skipped > 0 {
		s += fmt.Sprintf(", skipped %d whose state does not allow it", r.Skipped)
	}
	return s
}

// detail returns the sentence of a field's error without the field.
func detail(err error) string {
	var field *task.FieldError
	if errors.As(err, &field) {
		return field.Detail
	}
	return err.Error()
}
