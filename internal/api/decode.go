package api

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/foliot/foliot/internal/api/decode"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/timespan"
	"github.com/foliot/foliot/internal/wire"
)

// decodeTask reads the task in a request. Absent fields take the defaults of the
// queue, or keep the values in s. The queue can be the last field, so defaults is
// called at the end. decodeTask validates only the form of the JSON.
func (r *reader) decodeTask(s *task.Spec, defaults func(queue string) task.Spec, bodyLimit int) error {
	var due dueTime
	f := taskFields{spec: s, plain: fieldsOfTask, bodyLimit: bodyLimit}
	err := r.Object(func(key []byte) (err error) {
		switch string(key) {
		case "name":
			s.Name, err = r.name()
		case "first_attempt_at":
			due.when.Next, err = r.instant()
		case "traceparent":
			s.Trace, err = r.traceparent()
		default:
			var known bool
			if known, err = due.read(r, key); !known {
				err = f.read(r, key)
			}
		}
		return err
	})
	if err != nil {
		return err
	}
	if !due.at && !due.delay && !due.zoned {
		return refuse("no_due_time", "at", "missing due time: send at (a time) or delay (a duration)")
	}
	if s.When, err = due.resolve(); err != nil {
		return err
	}
	return f.fillDefaults(defaults)
}

var (
	fieldsOfTask     = readerOf[wire.TaskInput, task.Spec]("")
	fieldsOfTemplate = readerOf[wire.ScheduledTask, task.Spec]("")
)

// fieldSet is a set of fields of a task that a request can set.
type fieldSet uint16

const (
	queueField fieldSet = 1 << iota
	priorityField
	urlField
	methodField
	timeoutField
	expireAfterField
	onDeadField
	maxAttemptsField
	minBackoffField
	maxBackoffField
	maxAgeField

	// queueDefaults are the fields that have defaults in the queue.
	queueDefaults = timeoutField | expireAfterField | onDeadField | maxAttemptsField | minBackoffField | maxBackoffField | maxAgeField
)

// taskFields reads the common fields of a task, of the tasks of a schedule, and of a
// patch.
type taskFields struct {
	spec      *task.Spec
	patch     *task.Patch  // gets labels, headers, body and arguments; nil for a whole task
	plain     *fieldReader // fields without a rule of their own
	bodyLimit int
	http      bool     // set if the field http was given
	work      bool     // set if the field work was given
	given     fieldSet // without those that are null
	null      fieldSet // only in a patch: their values become the defaults
}

func (f *taskFields) read(r *reader, key []byte) (err error) {
	s := f.spec
	switch string(key) {
	case "queue":
		err = set(f, r, queueField, &s.Queue, (*reader).Text)
	case "http":
		f.http = true
		err = f.readRequest(r, &s.Request)
	case "work":
		f.work = true
		err = f.readWork(r, &s.Request)
	case "timeout":
		err = set(f, r, timeoutField, &s.Timeout, (*reader).duration)
	case "expire_after":
		err = set(f, r, expireAfterField, &s.ExpireAfter, (*reader).duration)
	case "on_dead":
		err = set(f, r, onDeadField, &s.OnDead, (*reader).Text)
	case "priority":
		err = set(f, r, priorityField, &s.Priority, (*reader).priority)
	case "labels":
		if f.patch != nil {
			f.patch.Labels, err = r.textEdits()
		} else {
			s.Labels, err = r.textMap()
		}
	case "retry":
		err = r.Object(func(key []byte) error { return f.readRetry(r, key, &s.Retry) })
	default:
		if !f.plain.has(key) {
			return unknownField(key)
		}
		spec := *s // like this reader a copy on the heap, so that *s and r need not be there
		err = f.plain.read(&reader{r.Reader}, key, &spec)
		*s = spec
	}
	return err
}

// set reads a field, which can be null in a patch.
func set[T any](f *taskFields, r *reader, field fieldSet, into *T, read func(*reader) (T, error)) (err error) {
	if f.patch != nil && r.Null() {
		f.null |= field
		return nil
	}
	f.given |= field
	*into, err = read(r)
	return err
}

func (f *taskFields) readRetry(r *reader, key []byte, p *task.Retry) error {
	switch string(key) {
	case "max_attempts":
		return set(f, r, maxAttemptsField, &p.MaxAttempts, (*reader).Integer)
	case "min_backoff":
		return set(f, r, minBackoffField, &p.MinBackoff, (*reader).duration)
	case "max_backoff":
		return set(f, r, maxBackoffField, &p.MaxBackoff, (*reader).duration)
	case "max_age":
		return set(f, r, maxAgeField, &p.MaxAge, (*reader).duration)
	}
	return noSuchField(key, retryFields)
}

func (f *taskFields) readRequest(r *reader, q *task.Request) error {
	var b bodyReader
	err := r.Object(func(key []byte) (err error) {
		switch string(key) {
		case "url":
			f.given |= urlField
			q.URL, err = r.Text()
		case "method":
			err = set(f, r, methodField, &q.Method, (*reader).Text)
		case "headers":
			if f.patch != nil {
				f.patch.Headers, err = r.textEdits()
			} else {
				q.Headers, err = r.textMap()
			}
		case "body", "body_base64":
			err = b.read(r, key, f.bodyLimit)
		default:
			err = noSuchField(key, requestFields)
		}
		return err
	})
	switch {
	case f.patch == nil:
		q.BodyKind, q.BodySize, q.Body = b.body.Kind, len(b.body.Bytes), b.body.Bytes
	case b.given:
		f.patch.Body = &b.body
	}
	return err
}

func (f *taskFields) readWork(r *reader, q *task.Request) error {
	err := r.Object(func(key []byte) (err error) {
		switch string(key) {
		case "kind":
			if f.patch != nil {
				return refuse("unknown_field", "", "a task's kind cannot change: replace the task")
			}
			q.Kind, err = r.Text()
		case "args":
			var args task.Body
			if args, err = r.args(f.bodyLimit); f.patch != nil {
				f.patch.Args = &args
			} else {
				q.BodyKind, q.BodySize, q.Body = args.Kind, len(args.Bytes), args.Bytes
			}
		default:
			err = noSuchField(key, workFields)
		}
		return err
	})
	if f.patch != nil || err != nil {
		return err
	}
	if q.Method = ""; q.Kind == "" {
		err = refuse("required", "kind", "missing: work needs a kind, the name of its handler")
	}
	return err
}

func (f *taskFields) fillDefaults(defaults func(queue string) task.Spec) error {
	switch {
	case f.http && f.work:
		return refuse("conflict", "http", "cannot be combined with work: a task is a request or a call of a handler")
	case !f.http && !f.work:
		return refuse("required", "http", "missing: a task needs http with at least a url, or work with a kind")
	}
	f.given.fill(f.spec, defaults(f.spec.Queue))
	return nil
}

// fill sets the fields of s that have defaults in the queue and are not in the set.
func (given fieldSet) fill(s *task.Spec, defaults task.Spec) {
	fill(given&timeoutField != 0, &s.Timeout, defaults.Timeout)
	fill(given&expireAfterField != 0, &s.ExpireAfter, defaults.ExpireAfter)
	fill(given&onDeadField != 0, &s.OnDead, defaults.OnDead)
	fill(given&maxAttemptsField != 0, &s.Retry.MaxAttempts, defaults.Retry.MaxAttempts)
	fill(given&minBackoffField != 0, &s.Retry.MinBackoff, defaults.Retry.MinBackoff)
	fill(given&maxBackoffField != 0, &s.Retry.MaxBackoff, defaults.Retry.MaxBackoff)
	fill(given&maxAgeField != 0, &s.Retry.MaxAge, defaults.Retry.MaxAge)
}

func fill[T any](given bool, field *T, with T) {
	if !given {
		*field = with
	}
}

// args reads the arguments of a handler: any JSON value. null means none.
func (r *reader) args(limit int) (args task.Body, err error) {
	if r.Null() {
		return args, nil
	}
	if args, err = r.json(limit); errors.Is(err, decode.ErrOver) {
		err = bodyTooLarge("", limit)
	}
	return args, err
}

func (r *reader) json(limit int) (task.Body, error) {
	raw, err := r.Raw(limit)
	if err != nil {
		return task.Body{}, err
	}
	return task.Body{Kind: task.JSONBody, Bytes: bytes.Clone(raw)}, nil // the buffer of the document is reused
}

// bodyReader reads the body of a task's request, from body, body_base64 or
// both.
type bodyReader struct {
	given bool
	body  task.Body
}

func (b *bodyReader) read(r *reader, key []byte, limit int) (err error) {
	var body task.Body
	switch null := r.Null(); {
	case null:
	case string(key) == "body_base64":
		body, err = r.base64(limit)
	case r.Next() == '"':
		var s string
		s, err = r.TextUpTo(limit)
		body = task.Body{Kind: task.TextBody, Bytes: []byte(s)}
	default:
		body, err = r.json(limit)
	}
	if errors.Is(err, decode.ErrOver) || err == nil && len(body.Bytes) > limit {
		err = bodyTooLarge("", limit)
	}
	if b.given && err == nil {
		body, err = oneBody(b.body, body)
	}
	b.given, b.body = true, body
	return err
}

// oneBody returns the body of a request that has both body and body_base64, as
// a reply of showBody has if no JSON value shows the bytes of a JSON body. Both
// fields must have the same tokens, and the result has the bytes of body_base64.
func oneBody(value, exact task.Body) (task.Body, error) {
	if value.Kind == task.BinaryBody {
		value, exact = exact, value
	}
	shown := value.Bytes
	switch value.Kind {
	case task.NoBody:
		shown = []byte("null")
	case task.TextBody:
		shown, _ = json.Marshal(string(value.Bytes)) // marshalling a string cannot fail
	}
	if exact.Kind != task.BinaryBody || !decode.Equal(shown, exact.Bytes) {
		return task.Body{}, refuse("two_bodies", "", "body and body_base64 are not the same JSON value: send one of them")
	}
	return task.Body{Kind: task.JSONBody, Bytes: exact.Bytes}, nil
}

func bodyTooLarge(field string, limit int) error {
	return refuse("body_too_large", field, fmt.Sprintf("the body of a task, or its arguments, must have at most %d bytes on this server", limit))
}

func (r *reader) base64(limit int) (task.Body, error) {
	s, err := r.TextUpTo(base64.StdEncoding.EncodedLen(limit))
	if err != nil {
		return task.Body{}, err
	}
	b, err := base64.StdEncoding.Strict().DecodeString(s)
	if err != nil {
		return task.Body{}, refuse("bad_base64", "", "invalid base64: use the standard alphabet, with padding")
	}
	return task.Body{Kind: task.BinaryBody, Bytes: b}, nil
}

// name reads a name, but refuses an empty one, because later code treats it as an
// absent field.
func (r *reader) name() (string, error) {
	s, err := r.Text()
	if err == nil && s == "" {
		err = refuse("bad_name", "", "must not be empty; if absent, the id becomes the name")
	}
	return s, err
}

// traceparent reads a span in the form of W3C Trace Context.
func (r *reader) traceparent() (string, error) {
	s, err := r.Text()
	if err != nil {
		return "", err
	}
	span := traceparent(s)
	if span == "" {
		err = refuse("bad_traceparent", "", "invalid traceparent: W3C Trace Context has 00-, 32 and 16 lower case hexadecimal digits, and two for flags, with a - between them")
	}
	return span, err
}

func (r *reader) textMap() (map[string]string, error) {
	// A task cannot have more headers: their bytes are bounded, and all names
	// differ.
	const most = task.MaxHeaderBytes
	m := map[string]string{}
	err := r.Object(func(key []byte) (err error) {
		if len(m) == most {
			return refuse("too_many", "", fmt.Sprintf("must have at most %d names", most))
		}
		m[string(key)], err = r.Text()
		return err
	})
	return m, err
}

func (r *reader) instant() (task.Millis, error) {
	t, err := r.time()
	return task.CeilMillis(t), err
}

func (r *reader) time() (time.Time, error) {
	s, err := r.textSuchAs("2030-01-02T15:04:05Z")
	if err != nil {
		return time.Time{}, err
	}
	return parseTime("", s)
}

func (r *reader) duration() (time.Duration, error) {
	s, err := r.textSuchAs("30s")
	if err != nil {
		return 0, err
	}
	return parseDuration("", s)
}

// textSuchAs reads a string, and shows an example in the error of another
// value.
func (r *reader) textSuchAs(example string) (string, error) {
	if r.Next() != '"' {
		return "", r.Mismatch(`a string such as "` + example + `"`)
	}
	return r.Text()
}

func (r *reader) priority() (task.Priority, error) {
	return choice(r, "bad_priority", task.ParsePriority, "high", "normal", "low")
}

// choice reads a value that is one of words. code is the code of its refusal.
func choice[T any](r *reader, code string, parse func(string) (T, bool), words ...string) (v T, err error) {
	word, err := r.Text()
	if err != nil {
		return v, err
	}
	v, ok := parse(word)
	if !ok {
		err = notAllowed(code, "", words)
	}
	return v, err
}

func parseTime(field, s string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339, s)
	switch {
	case err != nil && wire.IsLeapSecond(s):
		return t, refuse("bad_time", field, "leap seconds are not supported: write the next second, 00:00:00")
	case err != nil && field != "" && strings.Contains(s, " "): // only a query or a header has a field
		return t, refuse("bad_time", field, "the time contains a space: use RFC 3339, and write + as %2B in a query, such as 2030-01-02T15:04:05%2B01:00")
	case err != nil || !isRFC3339(s):
		return t, refuse("bad_time", field, "invalid time: use RFC 3339, such as 2030-01-02T15:04:05.250Z")
	}
	return t, nil
}

// isRFC3339 refuses some forms that time.Parse accepts although RFC 3339 does
// not (go.dev/issue/54580): an hour with one digit, a comma before the
// fraction, a zone of a day or more.
func isRFC3339(parsed string) bool {
	const hour, seconds = len("2006-01-02T"), len("2006-01-02T15:04:05")
	if parsed[hour+1] == ':' || parsed[seconds] == ',' {
		return false
	}
	zone := parsed[len(parsed)-len("+07:00"):]
	return strings.HasSuffix(zone, "Z") || zone[1:3] < "24" && zone[4:] < "60"
}

func parseDuration(field, s string) (time.Duration, error) {
	d, err := timespan.Parse(s)
	if err != nil {
		return 0, refuse("bad_duration", field, "invalid duration: "+err.Error()+"; the maximum is 100 years")
	}
	return d, nil
}

// readOnlyOfTask has the fields that only the server sets.
var readOnlyOfTask = replyOnly[wire.Task, wire.TaskInput]()

func unknownField(key []byte) error {
	switch name := string(key); {
	case name == "next_at":
		return refuse("unknown_field", "", "only the server sets this field: leave it out; at or delay sets the due time")
	case readOnlyOfTask[name] || name == "traceparent":
		return refuse("unknown_field", "", "only the server sets this field: leave it out")
	case name == "url" || name == "method" || name == "headers" || name == "body" || name == "body_base64":
		return refuse("unknown_field", "", "this field belongs to http")
	case name == "kind" || name == "args":
		return refuse("unknown_field", "", "this field belongs to work")
	}
	return noSuchField(key, taskFieldNames)
}
