package tasks

import (
	"context"
	"fmt"
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/cli/console"
	"github.com/foliot/foliot/internal/cli/flags"
	"github.com/foliot/foliot/internal/cli/wording"
	"github.com/foliot/foliot/internal/usage"
)

// manyFlags select the tasks of a command that takes names or a filter.
type manyFlags struct {
	Names []string `arg:"" optional:"" name:"name" help:"The tasks' names."`

	flags.Filter

	All bool `group:"filter" help:"All tasks to which the command applies."`

	yesFlag
}

// yesFlag has the flags of a command that changes many tasks.
type yesFlag struct {
	Yes    bool `short:"y" help:"Do not ask for confirmation before a filter changes tasks."`
	DryRun bool `help:"Print how many tasks the filter selects, and up to 20 of them, and change nothing."`
}

// byFilter reports whether a filter selects the tasks, and not their names. It
// returns an error unless exactly one of the two is given.
func (f manyFlags) byFilter() (bool, error) {
	filtered := f.Given() || f.All
	switch {
	case len(f.Names) > 0 && filtered:
		return false, usage.Errorf("NAME", "pass names or a filter, not both")
	case len(f.Names) == 0 && !filtered:
		return false, usage.Errorf("NAME", "pass names, a filter such as --queue or --label, or --all")
	case f.All && f.Given():
		return false, usage.Errorf("--all", "it cannot be combined with other filters")
	case f.DryRun && !filtered:
		return false, usage.Errorf("--dry-run", "it needs a filter, or --all")
	}
	return filtered, nil
}

// bulkAct is a method of the client that changes all tasks a filter selects.
type bulkAct func(context.Context, client.Filter, ...client.CallOption) (client.BulkResult, error)

// each calls act with all tasks that the filter selects, or one with each name.
// verb and done are for bulk.
func (f manyFlags) each(ctx context.Context, con *console.Console, act bulkAct, verb, done string, one func(name string) error) error {
	filtered, err := f.byFilter()
	switch {
	case err != nil:
		return err
	case filtered:
		return f.bulk(ctx, con, act, verb, done)
	}
	return con.ForEachName(ctx, f.Names, one)
}

// bulk calls act with the filter, after a confirmation, and prints the result.
// The verb is for the question, such as "cancel".
func (f manyFlags) bulk(ctx context.Context, con *console.Console, act bulkAct, verb, done string) error {
	filter, err := f.Resolve(time.Now())
	if err != nil {
		return err
	}
	filter.All, filter.DryRun = f.All, f.DryRun
	if !f.Yes && !f.DryRun {
		act = withConfirmation(con, act, verb)
	}
	reply, err := act(ctx, filter)
	if err != nil {
		return err
	}
	if reply.Changed+reply.Accepted+reply.Skipped == 0 && (reply.Matched == nil || *reply.Matched == 0) {
		con.NoteNothing()
	}
	if con.JSON {
		return con.Object(reply)
	}
	if f.DryRun {
		return printMatches(con, reply, verb)
	}
	con.Linef("%s %d%s", done, reply.Changed, bulkRest(reply))
	return nil
}

func printMatches(con *console.Console, reply client.BulkResult, verb string) error {
	out := newTaskTable(con)
	for _, t := range reply.Examples {
		if err := out.add(t); err != nil {
			return err
		}
	}
	if err := out.End(); err != nil {
		return err
	}
	matched := 0
	if reply.Matched != nil {
		matched = *reply.Matched
	}
	rest := ""
	if shown := len(reply.Examples); shown < matched {
		rest = fmt.Sprintf("; these are the first %d", shown)
	}
	con.Notef("without --dry-run, the command would %s %s%s", verb, wording.Count(matched, "task"), rest)
	return nil
}

// withConfirmation returns act with a question before it that names the number
// of tasks. See console.ConfirmCount.
func withConfirmation(con *console.Console, act bulkAct, verb string) bulkAct {
	return func(ctx context.Context, filter client.Filter, _ ...client.CallOption) (client.BulkResult, error) {
		expecting := func(n []client.CallOption) (client.BulkResult, error) { return act(ctx, filter, n...) }
		reply, err := act(ctx, filter, client.Expect(0)) // an expected 0 changes nothing, so this call only counts
		n, differs := console.OtherCount(err)
		switch {
		case differs:
			return console.ConfirmCount(ctx, con, n, func(tasks string) string { return verb + " " + tasks }, expecting)
		case err == nil && !con.CanAsk: // a script must fail without --yes even if no task matches
			return reply, con.Confirm(ctx, "%s 0 tasks?", verb)
		}
		return reply, err
	}
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
