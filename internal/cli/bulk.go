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

// sayTask prints a task: the sentence, or the object with -o json.
func sayTask(con *console, t *client.Task, format string, args ...any) error {
	if con.json {
		return con.object(t)
	}
	con.sayf("%s", wording.Printable(fmt.Sprintf(format, args...)))
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

	yesFlag
}

// yesFlag lets a command change many tasks without a question.
type yesFlag struct {
	Yes bool `short:"y" help:"Do not ask before tasks are changed by a filter."`
}

// byFilter reports whether a filter chooses, and not names; exactly one must.
func (f manyFlags) byFilter() (bool, error) {
	filtered := f.given() || f.All
	switch {
	case len(f.Names) > 0 && filtered:
		return false, usage.Errorf("NAME", "give names or a filter, not both")
	case len(f.Names) == 0 && !filtered:
		return false, usage.Errorf("NAME", "give names, a filter such as --queue or --label, or --all")
	case f.All && f.given():
		return false, usage.Errorf("--all", "it goes without other filters")
	}
	return filtered, nil
}

// bulkAct is one of the client's, on all tasks that a filter chooses.
type bulkAct func(context.Context, client.Filter) (client.BulkResult, error)

// bulk does act to everything the filter chooses, after a question, and prints
// what became of it. The verb is for the question: "cancel".
func (f manyFlags) bulk(ctx context.Context, con *console, act bulkAct, verb, done string) error {
	filter, err := f.filter(time.Now())
	if err != nil {
		return err
	}
	filter.All = f.All
	if !f.Yes {
		act = asking(con, act, verb)
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

// asking returns act with a question before it that names the number of tasks. See agreed.
func asking(con *console, act bulkAct, verb string) bulkAct {
	return func(ctx context.Context, filter client.Filter) (client.BulkResult, error) {
		expecting := func(n *int) (client.BulkResult, error) {
			filter.Expect = n
			return act(ctx, filter)
		}
		reply, err := expecting(new(int)) // of 0 tasks, none is changed: this call only counts
		n, differs := otherCount(err)
		switch {
		case differs:
			return agreed(ctx, con, n, func(tasks string) string { return verb + " " + tasks }, expecting)
		case err == nil && !con.canAsk: // a script must not depend on the number
			return reply, con.confirm(ctx, "%s 0 tasks?", verb)
		}
		return reply, err
	}
}

// agreed asks whether n tasks may be changed, and calls act with the number that the
// person agreed to. If the number changes before the answer, it asks again: no more
// tasks are changed than the person agreed to. Above wire.MaxExpect the question says
// that more may be, and act gets nil.
func agreed[T any](ctx context.Context, con *console, n int, question func(tasks string) string, act func(expect *int) (T, error)) (T, error) {
	for {
		text, expect := "%s?", &n
		if n > wire.MaxExpect { // the server compares no larger number
			text, expect = "%s, and those that match by the time of your answer?", nil
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

// otherCount reports whether err says that another number of tasks matches than
// expected, and returns that number.
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
