package api

import (
	"net/http"
	"net/url"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/wire"
)

// param is a query parameter or header that a route knows.
type param struct {
	name, about string
	format      string // of the string; "duration" is a pattern, "integer" and "boolean" are types of their own
	enum        []string
	repeated    bool
	required    bool
	low, high   int // of an integer
}

const (
	defaultLimit = 100
	maxLimit     = 1000
	maxWait      = 5 * time.Minute
)

// reasons are the words of Task.Reason.
var reasons = []string{
	task.ReasonAttempts, task.ReasonAge, task.ReasonReclaims, "gone", "no_retry", "egress_denied",
	task.ReasonExpired, task.ReasonCancelled, task.ReasonPurged,
}

var (
	filterParams = []param{
		{name: "queue", about: "Of that queue."},
		{name: "state", about: "In one of these states; scheduled: the held ones too.", enum: []string{"scheduled", "held", "running", "delivered", "cancelled", "expired", "dead"}, repeated: true},
		labelParam,
		{name: "reason", about: "Dead, expired or cancelled for that reason.", enum: reasons},
		{name: "schedule", about: "Made by that schedule: at its instants, by a trigger or by a backfill."},
		{name: "due_before", about: "due_at is earlier than that. Retries do not move due_at.", format: "date-time"},
		{name: "due_after", about: "due_at is later than that.", format: "date-time"},
	}
	labelParam     = param{name: "label", about: "With all of these labels, each as key=value.", repeated: true}
	allParam       = param{name: "all", about: "true: also without a filter.", format: "boolean"}
	expectParam    = param{name: "expect", about: "Change nothing, 412, unless exactly so many tasks match: the problem's count is how many do.", format: "integer", low: 0, high: wire.MaxExpect}
	forceNodeParam = param{name: "force", about: "true: also where no other node could take its shards. Nobody delivers their tasks then.", format: "boolean"}
	childrenParam  = param{name: "children", about: "true: revoke also the tokens that it made, and those that they made.", format: "boolean"}
	forceParam     = param{name: "force", about: "true: also the last operator's token of scope admin that holds.", format: "boolean"}
	limitParam     = param{name: "limit", about: "At most that many; 100 by default.", format: "integer", low: 1, high: maxLimit}
	cursorParam    = param{name: "cursor", about: "A page's next_cursor. Keep the filters as they were."}
	includeParam   = param{name: "include", about: "body: with the tasks' bodies.", enum: []string{"body"}}
	waitParam      = param{name: "wait", about: "Answer when the task is finished or dead, at the latest after this duration (5m at most) with what it is then.", format: "duration"}

	idempotencyHeader    = param{name: "Idempotency-Key", about: "1 to 256 printable ASCII characters. The same key with the same body creates nothing new; with another body it is refused. Without a name, the task's name derives from the key."}
	idempotencyPutHeader = param{name: "Idempotency-Key", about: "1 to 256 printable ASCII characters. The same key with the same request changes nothing, also if the task is finished or was replaced since; with another request it is refused."}
	namespaceHeader      = param{name: wire.NamespaceHeader, about: "For an operator's token: the namespace that the request is about; \"default\" without it. Any other token has its own."}
	ifMatchHeader        = param{name: "If-Match", about: "Entity tags, or *: 412 unless it has one of them."}
	ifNoneMatchHeader    = param{name: "If-None-Match", about: "*: 412 if it exists.", enum: []string{"*"}}
)

// readQuery parses r's query and refuses what the route does not know.
func readQuery(r *http.Request, known []param) (url.Values, error) {
	if r.URL.RawQuery == "" {
		return nil, nil
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, refuse("bad_parameter", "", "the query cannot be parsed: encode what its values contain")
	}
	for name, values := range query {
		i := slices.IndexFunc(known, func(p param) bool { return p.name == name })
		switch {
		case i < 0:
			return nil, refuse("unknown_parameter", name, "no such query parameter here: "+names(known))
		case len(values) > 1 && !known[i].repeated:
			return nil, refuse("repeated_parameter", name, "the parameter is given more than once")
		}
	}
	return query, nil
}

// oneOf refuses a value that is none of the words: it would choose nothing, and
// nobody would be told.
func oneOf(q url.Values, name string, words []string) error {
	if !q.Has(name) || slices.Contains(words, q.Get(name)) {
		return nil
	}
	return refuse("bad_parameter", name, name+" is one of "+strings.Join(words, ", "))
}

func names(known []param) string {
	if len(known) == 0 {
		return "this route takes none"
	}
	list := make([]string, len(known))
	for i, p := range known {
		list[i] = p.name
	}
	return "there are " + strings.Join(list, ", ")
}

// chosen is what the filters of a list choose.
type chosen struct {
	task.Filter
	heldOnly bool // of the scheduled ones those whose queue holds them
}

// filter reads the filters of a list.
func (r *request) filter() (chosen, error) {
	q := r.query
	f := chosen{Filter: task.Filter{Namespace: r.namespace, Queue: q.Get("queue"), Reason: q.Get("reason"), Schedule: q.Get("schedule")}}
	for _, name := range []string{"queue", "schedule"} {
		if !q.Has(name) {
			continue
		}
		if err := task.ValidateName(name, q.Get(name)); err != nil {
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
	return f, dueBounds(&f.Filter, q)
}

// labels reads the labels that are asked for, nil for none.
func labels(q url.Values) (map[string]string, error) {
	var all map[string]string
	for _, pair := range q["label"] {
		k, v, ok := strings.Cut(pair, "=")
		if !ok || k == "" {
			return nil, refuse("bad_parameter", "label", "a label is given as key=value")
		}
		if old, seen := all[k]; seen && old != v {
			return nil, refuse("bad_parameter", "label", "no task has two values of one label")
		}
		if all == nil {
			all = map[string]string{}
		}
		all[k] = v
	}
	return all, nil
}

// held is what a scheduled task is called whose queue does not let it start. It
// is no state of the domain, as no record changes when a queue is paused.
const held = "held"

func (f *chosen) states(words []string) error {
	for _, word := range words {
		if word == held {
			f.heldOnly = true
			continue
		}
		state, ok := task.ParseState(word)
		if !ok {
			return refuse("bad_parameter", "state", "a state is one of scheduled, held, running, delivered, cancelled, expired, dead")
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

// keep drops from a page what the store's filter cannot tell apart.
func (f *chosen) keep(s *task.Settings, now task.Millis, page []*task.Task) []*task.Task {
	if !f.heldOnly {
		return page
	}
	return slices.DeleteFunc(page, func(t *task.Task) bool { return t.State == task.Scheduled && holdOf(s, now, t) == task.NotHeld })
}

// dueBounds reads due_before and due_after. Tasks are due at whole
// milliseconds, so a finer bound is rounded to where it divides them the same
// way. 0 would be no bound at all; nothing is due before it.
func dueBounds(f *task.Filter, q url.Values) error {
	if q.Has("due_before") {
		t, err := parseTime("due_before", q.Get("due_before"))
		if err != nil {
			return err
		}
		if f.DueBefore = task.CeilMillis(t); f.DueBefore == 0 {
			f.DueBefore = -1
		}
	}
	if q.Has("due_after") {
		t, err := parseTime("due_after", q.Get("due_after"))
		if err != nil {
			return err
		}
		f.DueAfter = task.FloorMillis(t)
	}
	return nil
}

// page reads limit, cursor and include.
func page(q url.Values) (p task.Page, err error) {
	p.Bodies = q.Get("include") == "body"
	if q.Has("include") && !p.Bodies {
		return p, refuse("bad_parameter", "include", "there is include=body")
	}
	if p.Limit, err = limit(q); err != nil {
		return p, err
	}
	if q.Has("cursor") {
		p.After, err = parseCursor(q.Get("cursor"))
	}
	return p, err
}

// boolean returns whether a query says yes.
func boolean(q url.Values, name string) (bool, error) {
	switch q.Get(name) {
	case "true":
		return true, nil
	case "false", "":
		return false, nil
	}
	return false, refuse("bad_parameter", name, name+" is true or false")
}

func limit(q url.Values) (int, error) { return limitOr(q, defaultLimit) }

// limitOr is limit with another default.
func limitOr(q url.Values, usual int) (int, error) {
	if !q.Has("limit") {
		return usual, nil
	}
	n, err := strconv.Atoi(q.Get("limit"))
	if err != nil || n < 1 || n > maxLimit {
		return 0, refuse("bad_parameter", "limit", "a limit is a number between 1 and 1000")
	}
	return n, nil
}

// pageOf returns the part of items, which are in the order of their names, that
// a request asks for, and the cursor behind it.
func pageOf[T any](q url.Values, items []T, name func(T) string) (part []T, next string, err error) {
	p, err := page(q)
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
		next = cursor(name(part[len(part)-1]))
	}
	return part, next, nil
}
