package api

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/foliot/foliot/internal/task"
)

// param is a query parameter or header that a route knows.
type param struct {
	name, about string
	format      string // of the string; "integer" and "boolean" are types of their own
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

var (
	filterParams = []param{
		{name: "queue", about: "Of that queue."},
		{name: "state", about: "In one of these states.", enum: []string{"scheduled", "running", "delivered", "cancelled", "expired", "dead"}, repeated: true},
		{name: "label", about: "With all of these labels, each as key=value.", repeated: true},
		{name: "due_before", about: "Due earlier than that.", format: "date-time"},
		{name: "due_after", about: "Due later than that.", format: "date-time"},
	}
	allParam     = param{name: "all", about: "true: also without a filter.", format: "boolean"}
	limitParam   = param{name: "limit", about: "At most that many tasks; 100 by default.", format: "integer", low: 1, high: maxLimit}
	cursorParam  = param{name: "cursor", about: "A page's next_cursor. Keep the filters as they were."}
	includeParam = param{name: "include", about: "body: with the tasks' bodies.", enum: []string{"body"}}
	waitParam    = param{name: "wait", about: "Answer when the task is finished or dead, at the latest after this duration (5m at most) with what it is then."}

	idempotencyHeader = param{name: "Idempotency-Key", about: "1 to 256 printable ASCII characters. The same key with the same body creates nothing new; with another body it is refused. Without a name, the task's id derives from the key."}
	ifMatchHeader     = param{name: "If-Match", about: "Entity tags, or *: 412 unless the task has one of them."}
	ifNoneMatchHeader = param{name: "If-None-Match", about: "*: 412 if the task exists.", enum: []string{"*"}}
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

// filter reads the filters of a list.
func (s *Server) filter(q url.Values) (task.Filter, error) {
	f := task.Filter{Namespace: s.cfg.Namespace, Queue: q.Get("queue")}
	if q.Has("queue") {
		if err := task.ValidateName("queue", f.Queue); err != nil {
			return f, err
		}
	}
	for _, word := range q["state"] {
		state, ok := task.ParseState(word)
		if !ok {
			return f, refuse("bad_parameter", "state", "a state is one of scheduled, running, delivered, cancelled, expired, dead")
		}
		f.States = append(f.States, state)
	}
	for _, pair := range q["label"] {
		k, v, ok := strings.Cut(pair, "=")
		if !ok || k == "" {
			return f, refuse("bad_parameter", "label", "a label is given as key=value")
		}
		if old, seen := f.Labels[k]; seen && old != v {
			return f, refuse("bad_parameter", "label", "no task has two values of one label")
		}
		if f.Labels == nil {
			f.Labels = map[string]string{}
		}
		f.Labels[k] = v
	}
	return f, dueBounds(&f, q)
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
func page(q url.Values) (task.Page, error) {
	p := task.Page{Limit: defaultLimit, Bodies: q.Get("include") == "body"}
	if q.Has("include") && !p.Bodies {
		return p, refuse("bad_parameter", "include", "there is include=body")
	}
	if q.Has("limit") {
		n, err := strconv.Atoi(q.Get("limit"))
		if err != nil || n < 1 || n > maxLimit {
			return p, refuse("bad_parameter", "limit", "a limit is a number between 1 and 1000")
		}
		p.Limit = n
	}
	if q.Has("cursor") {
		var err error
		if p.After, err = parseCursor(q.Get("cursor")); err != nil {
			return p, err
		}
	}
	return p, nil
}

// A cursor is opaque to clients: a format byte and the name to go on after.
const cursorFormat = "1"

func cursor(after string) string {
	if after == "" {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString([]byte(cursorFormat + after))
}

func parseCursor(c string) (string, error) {
	b, err := base64.RawURLEncoding.DecodeString(c)
	after, ok := strings.CutPrefix(string(b), cursorFormat)
	if err == nil && ok {
		err = task.ValidateName("", strings.ReplaceAll(after, "@", "."))
	}
	if err != nil || !ok {
		return "", refuse("bad_cursor", "cursor", "a cursor is a page's next_cursor, unchanged")
	}
	return after, nil
}
