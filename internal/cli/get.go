package cli

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/cli/wording"
)

type getCmd struct {
	Name string `arg:"" help:"The task's name."`
	Wait bool   `help:"Wait until the task ends. Exit with 6 if it was not delivered."`
}

// Help shows examples below the usage line.
func (getCmd) Help() string {
	return `Shows a task with its state, due time, request and last 20 attempts. Retries do not change the due time: if a retry is
planned, a line of its own shows its time.

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
	return describe(t).print(con)
}

// rows are pairs of a word and a value.
type rows [][]string

// add adds a row unless its value is empty.
func (r *rows) add(word, value string) {
	if value != "" {
		*r = append(*r, []string{word, value})
	}
}

func (r rows) print(con *console) error {
	out := con.table(nil)
	for _, row := range r {
		if err := out.add(row...); err != nil {
			return err
		}
	}
	return out.end()
}

// describe returns a task as rows.
func describe(t *client.Task) (r rows) {
	state := string(t.State)
	if t.Reason != "" && t.Reason != state {
		state += " (" + t.Reason + ")"
	}
	if t.HeldBy != "" {
		state += " (" + heldWords(t.HeldBy) + ")"
	}
	if t.CancelRequested {
		state += ", cancel requested"
	}
	r.add("name", t.Name)
	r.add("id", t.ID)
	r.add("state", state)
	r.add("due", wording.Instant(t.DueAt))
	if !t.NextAt.Equal(t.DueAt) {
		r.add("next attempt", wording.InstantOr(t.NextAt, ""))
	}
	r.add("schedule", t.Schedule)
	r.add("instant", wording.InstantOr(t.Instant, ""))
	r.addRequest(&t.Spec)
	if t.At.IsZero() {
		r.add("delay", t.Delay.String())
	}
	r.addLimits(&t.Spec)
	r.add("created", wording.Instant(t.CreatedAt))
	r.add("finished", wording.InstantOr(t.FinishedAt, ""))
	if t.Reclaims > 0 {
		r.add("reclaims", strconv.Itoa(t.Reclaims))
	}
	for _, a := range t.Attempts {
		r.add("attempt", wording.Instant(a.StartedAt)+" "+attemptLine(a))
	}
	return r
}

// heldWords describes why a task is held. A newer server may have reasons that
// this version does not know; they are shown unchanged.
func heldWords(by string) string {
	switch by {
	case "suspended":
		return "the namespace is suspended"
	case "purge":
		return "the queue is being purged"
	case "pause":
		return "the queue is paused"
	}
	return by
}

// addRequest adds the rows of the request, the queue, the priority and labels.
func (r *rows) addRequest(s *client.Spec) {
	r.add("request", strings.TrimSpace(s.HTTP.Method+" "+s.HTTP.URL))
	for _, name := range sortedKeys(s.HTTP.Headers) {
		r.add("header", name+": "+s.HTTP.Headers[name])
	}
	r.add("body", bodyWords(s.HTTP.Body))
	r.add("queue", s.Queue)
	r.add("priority", string(s.Priority))
	for _, key := range sortedKeys(s.Labels) {
		r.add("label", key+"="+s.Labels[key])
	}
}

// addLimits adds the rows of the time limits, the retries and the dead notice.
func (r *rows) addLimits(s *client.Spec) {
	r.add("timeout", durationWords(s.Timeout))
	r.add("expire after", durationWords(time.Duration(s.ExpireAfter)))
	r.add("retry", retryWords(s.Retry))
	r.add("on dead", s.OnDead.String())
}

// bodyWords returns a body in the form that the API uses.
func bodyWords(b client.Body) string {
	switch {
	case b.IsZero():
		return ""
	case b.IsJSON():
		return string(b.Bytes())
	case b.IsText():
		var quoted strings.Builder
		_ = writeJSON(&quoted, string(b.Bytes()), false) // a string can always be encoded
		return strings.TrimSpace(quoted.String())
	}
	return "base64 " + base64.StdEncoding.EncodeToString(b.Bytes())
}

// durationWords returns d as text, or "" if d is not set.
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
