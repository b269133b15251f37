package main

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/foliot/foliot/client"
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
func (c *getCmd) Run(ctx context.Context, con *console, api *client.Client) error {
	if err := checkNames([]string{c.Name}); err != nil {
		return err
	}
	t, err := api.Tasks.Get(ctx, c.Name)
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
func describe(t *client.Task) [][]string {
	state := string(t.State)
	if t.Reason != "" && t.Reason != state {
		state += " (" + t.Reason + ")"
	}
	if t.CancelRequested {
		state += ", cancel requested"
	}
	rows := [][]string{
		{"name", t.Name},
		{"id", t.ID},
		{"state", state},
		{"due", instant(t.DueAt)},
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
	add("body", bodyWords(t.HTTP.Body))
	add("queue", t.Queue)
	add("priority", string(t.Priority))
	for _, key := range sortedKeys(t.Labels) {
		add("label", key+"="+t.Labels[key])
	}
	if t.At.IsZero() {
		add("delay", t.Delay.String())
	}
	add("timeout", durationWords(t.Timeout))
	add("expire after", durationWords(t.ExpireAfter))
	add("retry", retryWords(t.Retry))
	add("on dead", t.OnDead)
	add("created", instant(t.CreatedAt))
	if !t.FinishedAt.IsZero() {
		add("finished", instant(t.FinishedAt))
	}
	if t.Reclaims > 0 {
		add("reclaims", strconv.Itoa(t.Reclaims))
	}
	for _, a := range t.Attempts {
		add("attempt", instant(a.StartedAt)+" "+attemptLine(a))
	}
	return rows
}

// bodyWords shows a body as the API does.
func bodyWords(b client.Body) string {
	switch {
	case b.IsZero():
		return ""
	case b.IsJSON():
		return string(b.Bytes())
	case b.IsText():
		var quoted strings.Builder
		_ = writeJSON(&quoted, string(b.Bytes())) // a string always has a form
		return strings.TrimSpace(quoted.String())
	}
	return "base64 " + base64.StdEncoding.EncodeToString(b.Bytes())
}

// durationWords shows nothing for what is not set.
func durationWords(d time.Duration) string {
	if d <= 0 {
		return ""
	}
	return d.String()
}

func retryWords(r client.Retry) string {
	attempts := "any number of attempts"
	if r.MaxAttempts > 0 {
		attempts = fmt.Sprintf("at most %d attempts", r.MaxAttempts)
	}
	words := attempts + fmt.Sprintf(", %v to %v apart", r.MinBackoff, r.MaxBackoff)
	if r.MaxAge > 0 {
		words += ", for " + r.MaxAge.String()
	}
	return words
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
