package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/foliot/foliot/internal/wire"
)

type getCmd struct {
	Name string `arg:"" help:"The task's name."`
	Wait bool   `help:"Wait for the task's end; exit 6 when it was not delivered."`
}

// Help shows examples below the usage line.
func (getCmd) Help() string {
	return `Shows what was asked for and what has happened so far: state, due time, the last 20 attempts.

Examples:

    foliot get order-42-close
    foliot get order-42-close -o json | jq .attempts`
}

// Run prints the task.
func (c *getCmd) Run(ctx context.Context, con *console, api *client) error {
	if err := checkNames([]string{c.Name}); err != nil {
		return err
	}
	t, err := api.get(ctx, c.Name, 0)
	if err != nil {
		return err
	}
	if c.Wait {
		return wait(ctx, con, api, t)
	}
	if con.json {
		return con.object(t)
	}
	out := con.table(nil)
	for _, row := range describe(t) {
		if err := out.add(row...); err != nil {
			return err
		}
	}
	return out.end()
}

// describe returns a task as rows of a word and its value; what is not set is left out.
func describe(t wire.Task) [][]string {
	state := t.State
	if t.Reason != "" && t.Reason != t.State {
		state += " (" + t.Reason + ")"
	}
	if t.CancelRequested {
		state += ", cancel requested"
	}
	rows := [][]string{
		{"name", t.Name},
		{"id", t.ID},
		{"state", state},
		{"due", t.DueAt},
		{"request", strings.TrimSpace(t.HTTP.Method + " " + t.HTTP.URL)},
	}
	add := func(word, value string) {
		if value != "" {
			rows = append(rows, []string{word, value})
		}
	}
	for _, name := range sortedKeys(t.HTTP.Headers) {
		add("header", name+": "+t.HTTP.Headers[name])
	}
	if t.HTTP.BodyBase64 != nil {
		add("body", "base64 "+*t.HTTP.BodyBase64)
	}
	add("body", string(t.HTTP.Body))
	add("queue", t.Queue)
	add("priority", t.Priority)
	for _, key := range sortedKeys(t.Labels) {
		add("label", key+"="+t.Labels[key])
	}
	add("delay", t.Delay)
	add("timeout", t.Timeout)
	add("expire after", t.ExpireAfter)
	add("retry", retryWords(t.Retry))
	add("created", t.CreatedAt)
	add("finished", t.FinishedAt)
	if t.Reclaims > 0 {
		add("reclaims", strconv.Itoa(t.Reclaims))
	}
	for _, a := range t.Attempts {
		add("attempt", a.StartedAt+" "+attemptLine(a))
	}
	return rows
}

func retryWords(r *wire.Retry) string {
	if r == nil {
		return ""
	}
	attempts := "any number of attempts"
	if r.MaxAttempts != nil && *r.MaxAttempts > 0 {
		attempts = fmt.Sprintf("at most %d attempts", *r.MaxAttempts)
	}
	words := []string{attempts}
	if r.MinBackoff != "" || r.MaxBackoff != "" {
		words = append(words, fmt.Sprintf("%s to %s apart", r.MinBackoff, r.MaxBackoff))
	}
	if r.MaxAge != "" {
		words = append(words, "for "+r.MaxAge)
	}
	return strings.Join(words, ", ")
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
