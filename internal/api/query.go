package api

import (
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
	task.ReasonAttempts, task.ReasonAge, task.ReasonReclaims, "gone", "no_retry", "egress_denied",
	task.ReasonExpired, task.ReasonCancelled, task.ReasonPurged,
}

var (
	states   = []string{"scheduled", held, "running", "delivered", "cancelled", "expired", "dead"}
	includes = []string{"body"}
)

var (
	filterParams = []param{
		queueParam,
		{name: "state", about: "Only tasks in one of these states; scheduled includes held tasks.", enum: states, repeated: true},
		labelParam,
		{name: "reason", about: "Only tasks that are dead, expired or cancelled for this reason.", enum: reasons},
		{name: "schedule", about: "Only tasks of this schedule: of its instants, triggers and backfills."},
		prefixParam,
		{name: "due_before", about: "Only tasks with a due_at before this time. Retries do not move due_at.", format: "date-time"},
		{name: "due_after", about: "Only tasks with a due_at after this time.", format: "date-time"},
		{name: "ended_after", about: "Only tasks that have ended, with a finished_at after this time.", format: "date-time"},
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
	includeParam   = param{name: "include", about: "body: include the bodies of tasks.", enum: includes}
	waitParam      = param{name: "wait", about: "Reply when the task is finished or dead, or after this time (at most 5m) with its present state.", format: "duration"}

	idempotencyHeader    = param{name: "Idempotency-Key", about: "1 to 256 printable ASCII characters. A repeat with the same key and meaning creates nothing, whatever its encoding; another request is refused. Without a name, the task's name derives from the key."}
	idempotencyPutHeader = param{name: "Idempotency-Key", about: "1 to 256 printable ASCII characters. A repeat with the same key and request changes nothing, even if the task has finished or was replaced since. Another request is refused."}
	namespaceHeader      = param{name: wire.NamespaceHeader, about: "For an operator's token: the namespace of the request. Absent: \"default\". Other tokens have a fixed namespace."}
	ifMatchHeader        = param{name: "If-Match", about: "Entity tags, or *: 412 unless the record has one of them."}
	ifNoneMatchHeader    = param{name: "If-None-Match", about: "*: 412 if the record exists.", enum: []string{"*"}}
)

// readQuery parses the query of r. It refuses unknown parameters, and empty ones
// unless they are texts, which have checks of their own.
func readQuery(r *http.Request, known []param) (url.Values, error) {
	if r.URL.RawQuery == "" {
		return nil, nil
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, refuse("bad_parameter", "", "cannot parse the query: encode special characters in its values")
	}
	for name, values := range query {
		i := slices.IndexFunc(known, func(p param) bool { return p.name == name })
		switch {
		case i < 0:
			return nil, suggest(refuse("unknown_parameter", name, "unknown query parameter: "+names(known)), spelling.Nearest(name, namesOf(known)))
		case len(values) > 1 && !known[i].repeated:
			return nil, refuse("repeated_parameter", name, "the parameter is given more than once")
		case known[i].format != "" && values[0] == "": // the variable of a script was empty: dry_run= must not mean false
			return nil, refuse("bad_parameter", name, "the parameter is empty: give it a value, or leave it out")
		}
	}
	return query, nil
}

// oneOf refuses a value that is not one of words, because a misspelled filter
// would otherwise silently match no task.
func oneOf(q url.Values, name string, words []string) error {
	if !q.Has(name) || slices.Contains(words, q.Get(name)) {
		return nil
	}
	return notAllowed("bad_parameter", name, words)
}

func names(known []param) string {
	if len(known) == 0 {
		return "this route takes none"
	}
	return "this route takes " + strings.Join(namesOf(known), ", ")
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

func (r *request) filter() (listFilter, error) {
	q := r.query
	f := listFilter{Filter: task.Filter{Namespace: r.namespace, Queue: q.Get("queue"), Reason: q.Get("reason"), Schedule: q.Get("schedule"), Prefix: q.Get("prefix")}}
	for _, name := range []string{"queue", "schedule"} {
		if !q.Has(name) {
			continue
		}
		if err := task.ValidateName(name, q.Get(name)); err != nil {
			return f, err
		}
	}
	if q.Has("prefix") {
		if err := task.ValidateRecordName("prefix", f.Prefix); err != nil {
			return f, err
		}
	}
	if err := oneOf(q, "reason", reasons); err != nil {
		return f, err
	}
	if err := f.states(q["state"]); err != nil {
		return f, err
	}
	var err error
	if f.Labels, err = labels(q); err != nil {
		return f, err
	}
	return f, bounds(&f.Filter, q)
}

// labels reads the label filters, nil if there are none.
func labels(q url.Values) (map[string]string, error) {
	var all map[string]string
	for _, pair := range q["label"] {
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

func (f *listFilter) states(words []string) error {
	for _, word := range words {
		if word == held {
			f.heldOnly = true
			continue
		}
		state, ok := task.ParseState(word)
		if !ok {
			return notAllowed("bad_parameter", "state", states)
		}
		f.States = append(f.States, state)
	}
	if !f.heldOnly {
		return nil
	}
	if f.heldOnly = !slices.Contains(f.States, task.Scheduled); f.heldOnly {
		f.States = append(f.States, task.Scheduled)
	}
	return nil
}

// keep removes from a page the tasks that the store's filter cannot exclude.
func (f *listFilter) keep(s *settings.Settings, now task.Millis, page []*task.Task) []*task.Task {
	if !f.heldOnly {
		return page
	}
	return slices.DeleteFunc(page, func(t *task.Task) bool { return t.State == task.Scheduled && holdOf(s, now, t) == settings.NotHeld })
}

// bounds reads due_before, due_after and ended_after. These times of tasks are
// whole milliseconds, so a finer bound is rounded in the direction that does not
// change the result. A bound of 0 would mean no bound, so it is replaced: no task
// is due before 0.
func bounds(f *task.Filter, q url.Values) error {
	if q.Has("due_before") {
		t, err := parseTime("due_before", q.Get("due_before"))
		if err != nil {
			return err
		}
		if f.DueBefore = task.CeilMillis(t); f.DueBefore == 0 {
			f.DueBefore = -1
		}
	}
	for _, after := range []struct {
		name string
		into *task.Millis
	}{{"due_after", &f.DueAfter}, {"ended_after", &f.EndedAfter}} {
		if !q.Has(after.name) {
			continue
		}
		t, err := parseTime(after.name, q.Get(after.name))
		if err != nil {
			return err
		}
		*after.into = task.FloorMillis(t)
	}
	return nil
}

// page reads limit, include, and a cursor of that format.
func page(q url.Values, format string) (p task.Page, err error) {
	p.Bodies = q.Get("include") == "body"
	if q.Has("include") && !p.Bodies {
		return p, notAllowed("bad_parameter", "include", includes)
	}
	if p.Limit, err = limit(q); err != nil {
		return p, err
	}
	if q.Has("cursor") {
		p.After, err = parseCursor(format, q.Get("cursor"))
	}
	return p, err
}

// boolean returns the value of a boolean parameter, or false if it is absent.
func boolean(q url.Values, name string) (bool, error) {
	switch q.Get(name) {
	case "true":
		return true, nil
	case "false", "":
		return false, nil
	}
	return false, notAllowed("bad_parameter", name, []string{"true", "false"})
}

func limit(q url.Values) (int, error) { return limitOr(q, defaultLimit) }

// limitOr is limit with another default.
func limitOr(q url.Values, usual int) (int, error) {
	if !q.Has("limit") {
		return usual, nil
	}
	n, err := strconv.Atoi(q.Get("limit"))
	if err != nil || n < 1 || n > maxLimit {
		return 0, refuse("bad_parameter", "limit", fmt.Sprintf("must be a number between 1 and %d", maxLimit))
	}
	return n, nil
}

// pageOf returns the requested page of items, which are sorted by name, and the
// cursor of the next page.
func pageOf[T any](q url.Values, items []T, name func(T) string) (part []T, next string, err error) {
	p, err := page(q, nameCursor)
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
