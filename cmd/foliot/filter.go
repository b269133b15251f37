package main

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/foliot/foliot/internal/task"
)

// filterFlags choose tasks, for listing and for acting on many.
type filterFlags struct {
	Queue     string   `group:"filter" placeholder:"NAME" help:"Only tasks of this queue."`
	State     []string `group:"filter" placeholder:"STATE" help:"Only tasks in this state: scheduled, running, delivered, cancelled, expired, dead. Repeat it for any of several."`
	Label     []string `group:"filter" sep:"none" placeholder:"KEY=VALUE" help:"Only tasks with this label. Repeat it: all must match."`
	DueBefore string   `group:"filter" placeholder:"TIME" help:"Only tasks due before this time, or this long from now (10m, 0s)."`
	DueAfter  string   `group:"filter" placeholder:"TIME" help:"Only tasks due after this time, or this long from now (10m, -1h)."`
}

// given reports whether any of them is.
func (f filterFlags) given() bool {
	return f.Queue != "" || len(f.State) > 0 || len(f.Label) > 0 || f.DueBefore != "" || f.DueAfter != ""
}

// query returns the filter as the API's parameters.
func (f filterFlags) query(now time.Time) (url.Values, error) {
	q := url.Values{}
	if f.Queue != "" {
		if err := task.ValidateName("queue", f.Queue); err != nil {
			return nil, badInput("--queue", "%q: %s", f.Queue, detail(err))
		}
		q.Set("queue", f.Queue)
	}
	for _, s := range f.State {
		if _, ok := task.ParseState(s); !ok {
			return nil, badInput("--state", "%q is no state; it is one of scheduled, running, delivered, cancelled, expired, dead", s)
		}
	}
	if len(f.State) > 0 {
		q["state"] = slices.Clone(f.State)
	}
	labels, err := parseLabels(f.Label)
	if err != nil {
		return nil, err
	}
	for k, v := range labels {
		q.Add("label", k+"="+v)
	}
	slices.Sort(q["label"])
	for _, bound := range []struct{ flag, key, value string }{
		{"--due-before", "due_before", f.DueBefore},
		{"--due-after", "due_after", f.DueAfter},
	} {
		if bound.value == "" {
			continue
		}
		instant, err := parseBound(bound.flag, bound.value, now)
		if err != nil {
			return nil, err
		}
		q.Set(bound.key, instant)
	}
	return q, nil
}

// parseLabels reads key=value pairs.
func parseLabels(pairs []string) (map[string]string, error) {
	if len(pairs) == 0 {
		return nil, nil
	}
	labels := make(map[string]string, len(pairs))
	for _, pair := range pairs {
		k, v, ok := strings.Cut(pair, "=")
		if !ok || k == "" {
			return nil, badInput("--label", "%q is no KEY=VALUE", pair)
		}
		if _, twice := labels[k]; twice {
			return nil, badInput("--label", "%q is given twice", k)
		}
		labels[k] = v
	}
	return labels, nil
}
