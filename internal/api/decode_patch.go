package api

import "github.com/foliot/foliot/internal/task"

// decodePatch reads a patch. Absent fields stay nil, and a field that is null
// points to a field of defaults, which the caller fills after it knows the
// queue.
func (r *reader) decodePatch(p *task.Patch, defaults *task.Spec, bodyLimit int) error {
	var at, delay bool
	var when task.When
	err := r.Object(func(key []byte) (err error) {
		switch string(key) {
		case "at":
			at = true
			when.At, err = r.instant()
		case "delay":
			delay = true
			when.Delay, err = r.duration()
		case "queue":
			p.Queue, err = orNull(r, &defaults.Queue, (*reader).Text)
		case "http":
			err = r.patchRequest(p, &defaults.Request, bodyLimit)
		case "work":
			err = r.patchWork(p, bodyLimit)
		case "timeout":
			p.Timeout, err = orNull(r, &defaults.Timeout, (*reader).duration)
		case "expire_after":
			p.ExpireAfter, err = orNull(r, &defaults.ExpireAfter, (*reader).duration)
		case "on_dead":
			p.OnDead, err = orNull(r, &defaults.OnDead, (*reader).Text)
		case "priority":
			p.Priority, err = orNull(r, &defaults.Priority, (*reader).priority)
		case "labels":
			p.Labels, err = r.textEdits()
		case "retry":
			err = r.patchRetry(p, &defaults.Retry)
		case "name":
			err = refuse("unknown_field", "", "a task's name cannot change")
		default:
			err = unknownField(key)
		}
		return err
	})
	if err != nil {
		return err
	}
	if at && delay {
		return refuse("two_due_times", "delay", "cannot be combined with at")
	}
	if at || delay {
		when.Relative = delay
		p.When = &when
	}
	return nil
}

// decodeMove reads the new due time of a move by filter.
func (r *reader) decodeMove(p *task.Patch) error {
	var when task.When
	fields := 0
	err := r.Object(func(key []byte) (err error) {
		fields++
		switch string(key) {
		case "at":
			when.At, err = r.instant()
		case "delay":
			when.Relative = true
			when.Delay, err = r.duration()
		case "by":
			if p.Shift, err = r.duration(); err == nil && p.Shift == 0 {
				err = refuse("out_of_range", "", "must not be zero: the tasks would not move")
			}
		default:
			err = refuse("unknown_field", "", "unknown field: a move has at, delay or by")
		}
		return err
	})
	switch {
	case err != nil:
		return err
	case fields == 0:
		return refuse("required", "", "missing: a move needs at, delay or by")
	case fields > 1:
		return refuse("two_due_times", "", "a move has only one of at, delay and by")
	case p.Shift == 0:
		p.When = &when
	}
	return nil
}

func (r *reader) patchRequest(p *task.Patch, defaults *task.Request, bodyLimit int) error {
	var b bodyReader
	err := r.Object(func(key []byte) (err error) {
		switch string(key) {
		case "url":
			var url string
			url, err = r.Text()
			p.URL = &url
		case "method":
			p.Method, err = orNull(r, &defaults.Method, (*reader).Text)
		case "headers":
			p.Headers, err = r.textEdits()
		case "body", "body_base64":
			err = b.read(r, key, bodyLimit)
		default:
			err = noSuchField(key, requestFields)
		}
		return err
	})
	if b.given {
		p.Body = &b.body
	}
	return err
}

func (r *reader) patchWork(p *task.Patch, bodyLimit int) error {
	return r.Object(func(key []byte) (err error) {
		switch string(key) {
		case "args":
			var args task.Body
			args, err = r.args(bodyLimit)
			p.Args = &args
		case "kind":
			err = refuse("unknown_field", "", "a task's kind cannot change: replace the task")
		default:
			err = noSuchField(key, workFields)
		}
		return err
	})
}

func (r *reader) patchRetry(p *task.Patch, defaults *task.Retry) error {
	return r.Object(func(key []byte) (err error) {
		switch string(key) {
		case "max_attempts":
			p.MaxAttempts, err = orNull(r, &defaults.MaxAttempts, (*reader).Integer)
		case "min_backoff":
			p.MinBackoff, err = orNull(r, &defaults.MinBackoff, (*reader).duration)
		case "max_backoff":
			p.MaxBackoff, err = orNull(r, &defaults.MaxBackoff, (*reader).duration)
		case "max_age":
			p.MaxAge, err = orNull(r, &defaults.MaxAge, (*reader).duration)
		default:
			err = noSuchField(key, retryFields)
		}
		return err
	})
}

// resetsDefault reports whether p resets a field with a default in the queue.
func resetsDefault(p *task.Patch, defaults *task.Spec) bool {
	d := &defaults.Retry
	return p.Timeout == &defaults.Timeout || p.ExpireAfter == &defaults.ExpireAfter || p.OnDead == &defaults.OnDead ||
		p.MaxAttempts == &d.MaxAttempts || p.MinBackoff == &d.MinBackoff || p.MaxBackoff == &d.MaxBackoff || p.MaxAge == &d.MaxAge
}

// orNull reads a value, or returns reset for null.
func orNull[T any](r *reader, reset *T, read func(*reader) (T, error)) (*T, error) {
	if r.Null() {
		return reset, nil
	}
	v, err := read(r)
	return &v, err
}

// textEdits reads changes of a map of strings, in which null removes a key.
func (r *reader) textEdits() (map[string]*string, error) {
	var m map[string]*string // nil if there is none
	err := r.Object(func(key []byte) (err error) {
		name := string(key)
		if m == nil {
			m = map[string]*string{}
		}
		if r.Null() {
			m[name] = nil
			return nil
		}
		v, err := r.Text()
		m[name] = &v
		return err
	})
	return m, err
}
