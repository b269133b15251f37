package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// script is the list of commands that Differential runs on both stores.
type script []line

// line is a command and its time.
type line struct {
	at      task.Millis
	command command
}

// String prints one command a line, with the time since the beginning.
func (sc script) String() string {
	var b strings.Builder
	for _, l := range sc {
		fmt.Fprintf(&b, "\t%+7d ms  %s\n", l.at-start, show(l.command))
	}
	return b.String()
}

// command is one call. It is self-contained: it has its keys, tokens, lanes and
// versions, so it keeps its meaning when earlier commands are removed.
type command interface {
	run(ctx context.Context, s store.Store, now task.Millis) (answer any, err error)
	// items returns the number of items n, and a function that returns the
	// command without one of them.
	items() (n int, without func(i int) command)
}

type (
	// transit is a call of steps of one kind.
	transit struct {
		By    string
		Steps []store.Step
	}
	configure struct {
		By    string
		Edits []settings.Edit
	}
	reap  struct{ Limit int }
	sweep struct{ Limit int }
	scrub struct{ Limit int }
	get   struct{ Key task.Key }
	list  struct {
		Filter task.Filter
		Page   task.Page
	}
	peek   struct{ Reads []store.LaneRead }
	reopen struct{ way int }
)

func (c transit) run(ctx context.Context, s store.Store, now task.Millis) (any, error) {
	replies, err := s.Transit(settings.WithActor(ctx, settings.Actor{By: c.By, Token: c.By}), now, c.Steps)
	kind := c.Steps[0].Kind
	if kind == store.Extension { // the contract does not say what else is in the reply
		for i := range replies {
			replies[i].Result = task.Result{}
		}
	}
	return views(replies, kind == store.Change || kind == store.Claim), err // nor if there is a body after other steps
}

func (c configure) run(ctx context.Context, s store.Store, now task.Millis) (any, error) {
	replies, err := s.Configure(settings.WithActor(ctx, settings.Actor{By: c.By, Addr: "192.0.2.7"}), now, c.Edits)
	answers := make([]any, 0, 2*len(replies))
	for _, r := range replies {
		answers = append(answers, append([]settings.SettingChange(nil), r.Changes...), word(r.Err))
	}
	return answers, err
}

// scrub compares the repaired records, but not the wording of the repairs.
func (c scrub) run(ctx context.Context, s store.Store, now task.Millis) (any, error) {
	repairs, err := drainScrub(ctx, s, now, c.Limit)
	names := make([]string, len(repairs))
	for i, r := range repairs {
		names[i] = r.Key.Namespace + "/" + r.Key.Name
	}
	slices.Sort(names)
	return names, err
}

func (c reap) run(ctx context.Context, s store.Store, now task.Millis) (any, error) {
	return drainLimited(c.Limit, func() (int, error) { return s.(store.Reaper).Reap(ctx, now, c.Limit) })
}

func (c sweep) run(ctx context.Context, s store.Store, now task.Millis) (any, error) {
	return drainLimited(c.Limit, func() (int, error) { return s.Sweep(ctx, now, c.Limit) })
}

// drainLimited is drainCount with a check of the limit. The order in which
// records are removed is not part of the contract, so only the end is compared.
func drainLimited(limit int, step func() (int, error)) (int, error) {
	return drainCount(func() (int, error) {
		n, err := step()
		if n > limit {
			err = errors.Join(err, fmt.Errorf("%d records with a limit of %d", n, limit))
		}
		return n, err
	})
}

func (c get) run(ctx context.Context, s store.Store, _ task.Millis) (any, error) {
	t, err := s.Get(ctx, c.Key)
	return reply{Task: plain(t), Err: word(err)}, nil
}

// list compares all pages together: the end of each page is not part of the
// contract.
func (c list) run(ctx context.Context, s store.Store, _ task.Millis) (any, error) {
	read := drain
	if c.Page.ByEnd != 0 {
		read = drainEnded
	}
	tasks, err := read(ctx, s, c.Filter, c.Page)
	for i, t := range tasks {
		tasks[i] = plain(t)
	}
	return tasks, err
}

func (c peek) run(ctx context.Context, s store.Store, _ task.Millis) (any, error) {
	found, err := s.Peek(ctx, c.Reads)
	out := make([][]task.Entry, len(found))
	for i, entries := range found {
		out[i] = append(out[i], entries...)
	}
	return out, err
}

func (reopen) run(context.Context, store.Store, task.Millis) (any, error) {
	return nil, errors.New("a reopen is not a call")
}

func (c transit) items() (int, func(int) command) {
	return len(c.Steps), func(i int) command { return transit{c.By, without(c.Steps, i)} }
}

func (c configure) items() (int, func(int) command) {
	return len(c.Edits), func(i int) command { return configure{c.By, without(c.Edits, i)} }
}

func (c peek) items() (int, func(int) command) {
	return len(c.Reads), func(i int) command { return peek{without(c.Reads, i)} }
}

func (reap) items() (int, func(int) command)   { return 1, nil }
func (sweep) items() (int, func(int) command)  { return 1, nil }
func (scrub) items() (int, func(int) command)  { return 1, nil }
func (get) items() (int, func(int) command)    { return 1, nil }
func (list) items() (int, func(int) command)   { return 1, nil }
func (reopen) items() (int, func(int) command) { return 1, nil }

func without[T any](s []T, i int) []T {
	return append(append(make([]T, 0, len(s)), s[:i]...), s[i+1:]...)
}
