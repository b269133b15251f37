package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/cli/wording"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/usage"
	"github.com/foliot/foliot/internal/wire"
)

// printTask prints the sentence, or the task as an object with -o json.
func printTask(con *console, t *client.Task, format string, args ...any) error {
	if con.json {
		return con.object(t)
	}
	con.sayf("%s", wording.Printable(fmt.Sprintf(format, args...)))
	return nil
}

// eachName calls act with each name. It prints the errors and goes on. The first
// error sets the exit code of the command.
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
			first = &exitError{exitCode(err), errReported}
		}
		con.notef("foliot: %s", con.errorText(err))
		if ctx.Err() != nil || exitCode(err) == exitUnreachable {
			break // the other names would fail in the same way
		}
	}
	return first
}

// manyFlags select the tasks of a command that takes names or a filter.
type manyFlags struct {
	Names []string `arg:"" optional:"" name:"name" help:"The tasks' names."`

	filterFlags

	All bool `group:"filter" help:"All tasks to which the command applies."`

	yesFlag
}

// yesFlag skips the confirmation of a command that changes many tasks.
type yesFlag struct {
	Yes bool `short:"y" help:"Do not ask for confirmation before a filter changes tasks."`
}

// byFilter reports whether a filter selects the tasks, and not their names. It
// returns an error unless exactly one of the two is given.
func (f manyFlags) byFilter() (bool, error) {
	filtered := f.given() || f.All
	switch {
	case len(f.Names) > 0 && filtered:
		return false, usage.Errorf("NAME", "give names or a filter, not both")
	case len(f.Names) == 0 && !filtered:
		return false, usage.Errorf("NAME", "give names, a filter such as --queue or --label, or --all")
	case f.All && f.given():
		return false, usage.Errorf("--all", "it cannot be combined with other filters")
	}
	return filtered, nil
}

// bulkAct is a method of the client that changes all tasks a filter selects.
type bulkAct func(context.Context, client.Filter) (client.BulkResult, error)

// bulk calls act with the filter, after a confirmation, and prints the result.
// The verb is for the question, such as "cancel".
func (f manyFlags) bulk(ctx context.Context, con *console, act bulkAct, verb, done string) error {
	filter, err := f.filter(time.Now())
	if err != nil {
		return err
	}
	filter.All = f.All
	if !f.Yes {
		act = withConfirmation(con, act, verb)
	}
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

// withConfirmation returns act with a question before it that names the number
// of tasks. See confirmed.
func withConfirmation(con *console, act bulkAct, verb string) bulkAct {
	return func(ctx context.Context, filter client.Filter) (client.BulkResult, error) {
		expecting := func(n *int) (client.BulkResult, error) {
			filter.Expect = n
			return act(ctx, filter)
		}
		reply, err := expecting(new(int)) // an expected 0 changes nothing, so this call only counts
		n, differs := otherCount(err)
		switch {
		case differs:
			return confirmed(ctx, con, n, func(tasks string) string { return verb + " " + tasks }, expecting)
		case err == nil && !con.canAsk: // a script must fail without --yes even if no task matches
			return reply, con.confirm(ctx, "%s 0 tasks?", verb)
		}
		return reply, err
	}
}

// confirmed asks whether n tasks may be changed, and calls act with the
// confirmed number. If the number of matching tasks changes before the answer,
// it asks again, so that no more tasks change than the user confirmed. Above
// wire.MaxExpect the question says that more tasks may match, and act gets nil.
func confirmed[T any](ctx context.Context, con *console, n int, question func(tasks string) string, act func(expect *int) (T, error)) (T, error) {
	for {
		text, expect := "%s?", &n
		if n > wire.MaxExpect { // the server does not compare larger numbers
			text, expect = "%s, and all others that match when you answer?", nil
		}
		if err := con.confirm(ctx, text, question(tasksWord(n))); err != nil {
			var none T
			return none, err
		}
		reply, err := act(expect)
		found, differs := otherCount(err)
		if !differs {
			return reply, err
		}
		con.notef("the number of tasks has changed")
		n = found
	}
}

// otherCount reports whether err means that the number of matching tasks is not
// the expected one, and returns the number that matches.
func otherCount(err error) (int, bool) {
	var differs *client.Error
	if !errors.Is(err, client.ErrCount) || !errors.As(err, &differs) {
		return 0, false
	}
	return differs.Count, true
}

// tasksWord returns "1 task" or "2 tasks".
func tasksWord(n int) string {
	if n == 1 {
		return "1 task"
	}
	return fmt.Sprintf("%d tasks", n)
}

func bulkRest(r client.BulkResult) string {
	s := ""
	if r.Accepted > 0 {
		s += fmt.Sprintf(", %d after their running attempt", r.Accepted)
	}
	if r.Skipped > 0 {
		s += fmt.Sprintf(", skipped %d in a state that does not allow it", r.Skipped)
	}
	return s
}

// detail returns the text of a field's error without the field.
func detail(err error) string {
	var field *task.FieldError
	if errors.As(err, &field) {
		return field.Detail
	}
	return err.Error()
}
