package api

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/spelling"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/timespan"
	"github.com/foliot/foliot/internal/wire"
)

// param is a query parameter or header of a route.
type param struct {
	name, about string
	format      string // "date-time", "uri" and others; "duration" is a pattern, "integer" and "boolean" are types
	enum        []string
	repeated    bool
	required    bool
	low, high   int // the bounds of an integer
}

// endedOrder is the order of a list of ended tasks.
const endedOrder = "ended"

const (
	defaultLimit = 100
	maxLimit     = 1000
	maxWait      = 5 * time.Minute
)

var reasons = []string{
	task.ReasonAttempts, task.ReasonAge, task.ReasonReclaims, "gone", "no_retry", "egress_denied", task.ReasonRefused,
	task.ReasonExpired, task.ReasonCancelled, task.ReasonPurged,
}

// duration marks a duration in params and in the tags of package wire.
const duration = "duration"

var (
	filterParams = []param{
		queueParam,
		{name: "state", about: "Only tasks in one of these states; scheduled includes held tasks.", enum: []string{"scheduled", held, "running", "delivered", "cancelled", "expired", "dead"}, repeated: true},
		labelParam,
		{name: "reason", about: "Only tasks that are dead, expired or cancelled for this reason.", enum: reasons},
		{name: "schedule", about: "Only tasks of this schedule: of its instants, triggers and backfills."},
		prefixParam,
		{name: "due_before", about: "Only tasks with a due_at before this time. Retries do not move due_at.", format: "date-time"},
		{name: "due_after", about: "Only tasks with a due_at after this time.", format: "date-time"},
		{name: "ended_after", about: "Only tasks that have ended, with a finished_at after this time.", format: "date-time"},
		{name: "ended_before", about: "Only tasks that have ended, with a finished_at before this time.", format: "date-time"},
		{name: "destination", about: "Only tasks for this destination: host:port, or kind/ and the name of a kind."},
		{name: "contains", about: "Only tasks whose names contain this, in upper or lower case. Of several words, such as `order 42`, a name contains each."},
	}
	labelParam     = param{name: "label", about: "Only tasks or schedules with all of these labels, each as key=value.", repeated: true}
	queueParam     = param{name: "queue", about: "Only tasks of this queue."}
	prefixParam    = param{name: "prefix", about: "Only tasks whose names begin with this."}
	allParam       = param{name: "all", about: "true: change all tasks, without a filter.", format: "boolean"}
	expectParam    = param{name: "expect", about: "Change nothing (412) unless exactly this number of tasks matches. count in the problem has the number.", format: "integer", low: 0, high: wire.MaxExpect}
	dryRunParam    = param{name: "dry_run", about: "true: change nothing, and reply with the number of tasks that match and some of them.", format: "boolean"}
	forceNodeParam = param{name: "force", about: "true: drain the node even if no other node can take its shards. Their tasks are not delivered then.", format: "boolean"}
	childrenParam  = param{name: "children", about: "true: also revoke the tokens that it made, and their descendants.", format: "boolean"}
	forceParam     = param{name: "force", about: "true: revoke even the last valid operator's token with scope admin.", format: "boolean"}
	limitParam     = param{name: "limit", about: "The maximum number of items; 100 by default.", format: "integer", low: 1, high: maxLimit}
	cursorParam    = param{name: "cursor", about: "next_cursor of the page before. Use the same filters."}
	orderParam     = param{name: "order", about: "ended: only delivered, cancelled, expired and dead tasks, the latest end first.", enum: []string{endedOrder}}
	includeParam   = param{name: "include", about: "body: include the bodies of tasks.", enum: []string{"body"}}
	pageParams     = []param{limitParam, cursorParam}
	waitParam      = param{name: "wait", about: "Reply when the task is finished or dead, or after this time (at most 5m) with its present state.", format: duration}
)

// query has the parameters of a request, whose values readQuery has checked.
type query struct{ url.Values }

// readQuery parses the query of r, and refuses unknown parameters and wrong values. A
// misspelled filter would otherwise match no task, or every task.
func readQuery(r *http.Request, known []param) (q query, err error) {
	if r.URL.RawQuery == "" {
		return q, nil
	}
	if q.Values, err = url.ParseQuery(r.URL.RawQuery); err != nil {
		return q, refuse("bad_parameter", "", "cannot parse the query: encode special characters in its values")
	}
	for name, values := range q.Values {
		i := slices.IndexFunc(known, func(p param) bool { return p.name == name })
		switch {
		case i < 0:
			return q, suggest(refuse("unknown_parameter", name, "unknown query parameter: this route takes "+cmp.Or(strings.Join(namesOf(known), ", "), "none")), spelling.Nearest(name, namesOf(known)))
		case len(values) > 1 && !known[i].repeated:
			return q, refuse("repeated_parameter", name, "the parameter is given more than once")
		}
		for _, value := range values {
			if err := known[i].check(value); err != nil {
				return q, err
			}
		}
	}
	return q, nil
}

func (p *param) check(value string) error {
	switch {
	case p.format != "" && value == "": // the variable of a script was empty: dry_run= must not mean false
		return refuse("bad_parameter", p.name, "the parameter is empty: give it a value, or leave it out")
	case p.enum != nil && !slices.Contains(p.enum, value):
		return notAllowed("bad_parameter", p.name, p.enum)
	}
	switch p.format {
	case "boolean":
		if value != "true" && value != "false" {
			return notAllowed("bad_parameter", p.name, []string{"true", "false"})
		}
	case "integer":
		if n, err := strconv.Atoi(value); err != nil || n < p.low || n > p.high {
			return refuse("bad_parameter", p.name, fmt.Sprintf("must be a number between %d and %d", p.low, p.high))
		}
	case "date-time":
		_, err := parseTime(p.name, value)
		return err
	case duration:
		_, err := parseDuration(p.name, value)
		return err
	}
	switch p.name {
	case queueParam.name, "schedule":
		return task.ValidateName(p.name, value)
	case prefixParam.name:
		return task.ValidateRecordName(p.name, value)
	case "target", "by", "destination", "contains":
		if strings.TrimSpace(value) == "" {
			return refuse("bad_parameter", p.name, "must not be empty: leave it out")
		}
	}
	return nil
}

func (q query) is(p param) bool { return q.Get(p.name) == "true" }

func (q query) number(p param, usual int) int {
	if n, err := strconv.Atoi(q.Get(p.name)); err == nil {
		return n
	}
	return usual
}

func (q query) span(p param, usual time.Duration) time.Duration {
	if d, err := timespan.Parse(q.Get(p.name)); err == nil {
		return d
	}
	return usual
}

// instant reads a time, or a duration from now.
func (q query) instant(name string, now, usual task.Millis) (task.Millis, error) {
	s := q.Get(name)
	if !q.Has(name) {
		return usual, nil
	}
	if d, err := timespan.Parse(s); err == nil {
		return max(now.Add(d), 0), nil
	}
	at, err := parseTime(name, s)
	switch {
	case err != nil && strings.Contains(s, " "):
		return 0, err // explains how to encode a +
	case err != nil:
		return 0, refuse("bad_time", name, "invalid: use a time, such as 2030-01-02T15:04:05Z, or a duration from now, such as 0s or -1h")
	}
	return max(task.CeilMillis(at), 0), nil
}

func (q query) time(name string) (t time.Time, given bool) {
	t, err := time.Parse(time.RFC3339, q.Get(name))
	return t, err == nil
}

func namesOf(params []param) []string {
	list := make([]string, len(params))
	for i, p := range params {
		list[i] = p.name
	}
	return list
}

type listFilter struct {
	task.Filter
	heldOnly bool // exclude scheduled tasks that are not held
}

func (r *request) filter() (f listFilter, err error) {
	q := r.query
	f.Filter = task.Filter{Namespace: r.namespace, Queue: q.Get("queue"), Reason: q.Get("reason"), Schedule: q.Get("schedule"), Prefix: q.Get("prefix"), Destination: q.Get("destination"), Contains: strings.Fields(strings.ToLower(q.Get("contains")))}
	f.states(q.Values["state"])
	q.bound(&f.Filter)
	f.Labels, err = q.labels()
	return f, err
}

func (q query) labels() (map[string]string, error) {
	var all map[string]string
	for _, pair := range q.Values["label"] {
		k, v, ok := strings.Cut(pair, "=")
		if !ok || k == "" {
			return nil, refuse("bad_parameter", "label", "must have the form key=value")
		}
		if old, seen := all[k]; seen && old != v {
			return nil, refuse("bad_parameter", "label", fmt.Sprintf("two values for the label %q: no task has both", k))
		}
		if all == nil {
			all = map[string]string{}
		}
		all[k] = v
	}
	return all, nil
}

// held is the state that the API shows for a scheduled task if its queue or
// namespace is stopped. The store has no such state, because a pause changes no
// task.
const held = "held"

func (f *listFilter) states(words []string) {
	for _, word := range words {
		if state, ok := task.ParseState(word); ok { // not held
			f.States = append(f.States, state)
		}
	}
	if slices.Contains(words, held) && !slices.Contains(f.States, task.Scheduled) {
		f.heldOnly, f.States = true, append(f.States, task.Scheduled)
	}
}

// keep removes from a page the tasks that the store's filter cannot exclude.
func (f *listFilter) keep(s *settings.Settings, now task.Millis, page []*task.Task) []*task.Task {
	if !f.heldOnly {
		return page
	}
	return slices.DeleteFunc(page, func(t *task.Task) bool { return t.State == task.Scheduled && holdOf(s, now, t) == settings.NotHeld })
}

// bound reads due_before, due_after, ended_after and ended_before. These times of tasks are
// whole milliseconds, so a finer bound is rounded in the direction that does not
// change the result. A bound of 0 would mean no bound, so it is replaced: no task
// is due before 0.
func (q query) bound(f *task.Filter) {
	if t, given := q.time("due_before"); given {
		f.DueBefore = cmp.Or(task.CeilMillis(t), -1)
	}
	if t, given := q.time("due_after"); given {
		f.DueAfter = task.FloorMillis(t)
	}
	if t, given := q.time("ended_after"); given {
		f.EndedAfter = max(task.FloorMillis(t), 1) // 0 is no bound, and no task has ended before
	}
	if t, given := q.time("ended_before"); given {
		f.EndedBefore = cmp.Or(task.CeilMillis(t), -1)
	}
}

// page reads limit, include, and a cursor of that format.
func (q query) page(format string) (p task.Page, err error) {
	p.Limit, p.Bodies = q.number(limitParam, defaultLimit), q.Has(includeParam.name)
	if q.Has(cursorParam.name) {
		p.After, err = parseCursor(format, q.Get(cursorParam.name))
	}
	return p, err
}

// pageOf returns the requested page of items, which are sorted by name, and the
// cursor of the next page.
func pageOf[T any](q query, items []T, name func(T) string) (part []T, next string, err error) {
	p, err := q.page(nameCursor)
	if err != nil {
		return nil, "", err
	}
	from := 0
	if p.After != "" {
		from = sort.Search(len(items), func(i int) bool { return name(items[i]) > p.After })
	}
	part = items[from:]
	if len(part) > p.Limit {
		part = part[:p.Limit]
		next = cursor(nameCursor, name(part[len(part)-1]))
	}
	return part, next, nil
}

// endedStates are the states that a list in the order of ends can have.
var endedStates = []task.State{task.Delivered, task.Cancelled, task.Expired, task.Dead}

// endedOnly restricts f to tasks that have ended, and fails if f selects
// others.
func (f *listFilter) endedOnly() error {
	if len(f.States) == 0 {
		f.States = endedStates
	}
	for _, state := range f.States {
		if state.Live() {
			return refuse("bad_parameter", "state", "order=ended lists only delivered, cancelled, expired and dead tasks: leave state out, or name some of these states")
		}
	}
	return nil
}
