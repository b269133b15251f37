package main

import (
	"context"
	"errors"
)

type moveCmd struct {
	Name string `arg:"" help:"The task's name."`

	whenFlags
}

// Help shows examples below the usage line.
func (moveCmd) Help() string {
	return `Gives a waiting or dead task another due time; a dead one stays dead until it is retried.

Examples:

    foliot move order-42-close --in 30m
    foliot move order-42-close --at 2026-11-20T21:00:00Z`
}

// whenPatch is the body of a patch that moves a task.
type whenPatch struct {
	At    string `json:"at,omitempty"`
	Delay string `json:"delay,omitempty"`
}

// Run moves the task.
func (c *moveCmd) Run(ctx context.Context, con *console, api *client) error {
	if err := checkNames([]string{c.Name}); err != nil {
		return err
	}
	at, delay, err := c.resolve()
	if err != nil {
		return err
	}
	t, err := api.patch(ctx, c.Name, whenPatch{At: at, Delay: delay})
	if err != nil {
		return blameWhen(err)
	}
	return sayTask(con, t, "moved %s, due %s", t.Name, t.DueAt)
}

// blameWhen names the flag instead of the field that a server refuses.
func blameWhen(err error) error {
	var problem *problemError
	if !errors.As(err, &problem) || problem.exitCode() != exitUsage {
		return err
	}
	if flag, ok := addFlags[problem.Field]; ok {
		return badInput(flag, "%s", problem.sentence())
	}
	return err
}
