package api

import "github.com/foliot/foliot/internal/task"

// decodePatch reads a patch: the fields of f.spec that are not null, and the rest in
// f.patch.
func (r *reader) decodePatch(f *taskFields) error {
	var due dueTime
	err := r.Object(func(key []byte) (err error) {
		switch string(key) {
		case "name":
			err = refuse("unknown_field", "", "a task's name cannot change")
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
	when, err := due.resolve()
	if err != nil {
		return err
	}
	if due.at || due.delay {
		f.patch.When = &when
	}
	s, p, has := f.spec, f.patch, f.given|f.null
	change(has&queueField, &p.Queue, &s.Queue)
	change(has&priorityField, &p.Priority, &s.Priority)
	change(has&urlField, &p.URL, &s.Request.URL)
	change(has&methodField, &p.Method, &s.Request.Method)
	change(has&timeoutField, &p.Timeout, &s.Timeout)
	change(has&expireAfterField, &p.ExpireAfter, &s.ExpireAfter)
	change(has&onDeadField, &p.OnDead, &s.OnDead)
	change(has&maxAttemptsField, &p.MaxAttempts, &s.Retry.MaxAttempts)
	change(has&minBackoffField, &p.MinBackoff, &s.Retry.MinBackoff)
	change(has&maxBackoffField, &p.MaxBackoff, &s.Retry.MaxBackoff)
	change(has&maxAgeField, &p.MaxAge, &s.Retry.MaxAge)
	return nil
}

// change lets a field of a patch point to its value, unless has is empty.
func change[T any](has fieldSet, field **T, value *T) {
	if has != 0 {
		*field = value
	}
}

func (r *reader) decodeMove(p *task.Patch) error {
	var due dueTime
	shifts := false
	err := r.Object(func(key []byte) (err error) {
		if string(key) == "by" {
			shifts = true
			if p.Shift, err = r.duration(); err == nil && p.Shift == 0 {
				err = refuse("out_of_range", "", "must not be zero: the tasks would not move")
			}
			return err
		}
		known, err := due.read(r, key)
		if !known {
			err = refuse("unknown_field", "", "unknown field: a move has at with or without timezone, delay or by")
		}
		return err
	})
	switch {
	case err != nil:
		return err
	case !due.at && !due.delay && !due.zoned && !shifts:
		return refuse("required", "", "missing: a move needs at, delay or by")
	case shifts && (due.at || due.delay || due.zoned), due.at && due.delay:
		return refuse("two_due_times", "", "a move has only one of at, delay and by")
	case shifts:
		return nil
	}
	when, err := due.resolve()
	p.When = &when
	return err
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
