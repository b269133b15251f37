package task

// Idempotency marks a task that was made by a request with an Idempotency-Key.
type Idempotency struct {
	Key         string // digest of the key
	Fingerprint string // digest of the request; the same key with another digest is an error
}

// maxReplaced is the number of replaced incarnations that a record remembers,
// because a client repeats a replace within seconds, and few others of the same
// name come in between.
const maxReplaced = 4

// repeats reports whether i and made mark the same request; a nil i marks none.
// Errors: ErrIdempotencyReuse.
func (i *Idempotency) repeats(made Idempotency) (bool, error) {
	switch {
	case i == nil || i.Key != made.Key:
		return false, nil
	case i.Fingerprint != made.Fingerprint:
		return false, ErrIdempotencyReuse
	}
	return true, nil
}

// Repeats reports whether the request that i marks made t, or an incarnation that
// t replaced, and false if t or i is nil. Errors: ErrIdempotencyReuse.
func (t *Task) Repeats(i *Idempotency) (bool, error) {
	if t == nil || i == nil {
		return false, nil
	}
	if t.Idempotency != nil && t.Idempotency.Key == i.Key {
		return i.repeats(*t.Idempotency)
	}
	for _, made := range t.Replaced {
		if made.Key == i.Key {
			return i.repeats(made)
		}
	}
	return false, nil
}

// replacedMarks returns the marks that the incarnation which replaces t remembers.
func (t *Task) replacedMarks() []Idempotency {
	if t.Idempotency == nil {
		return t.Replaced
	}
	all := append([]Idempotency{*t.Idempotency}, t.Replaced...)
	return all[:min(len(all), maxReplaced)]
}

// KeyOf returns the digest of the Idempotency-Key of a transition that makes a task,
// or "" if it has no key.
func KeyOf(change any) string {
	var i *Idempotency
	switch c := change.(type) {
	case Create:
		i = c.Idempotency
	case Replace:
		i = c.Idempotency
	case Adopt:
		i = c.Task.Idempotency
	}
	if i == nil {
		return ""
	}
	return i.Key
}

// Repeat determines whether a request repeats one that made a task. Although it
// changes nothing, a store replies to it as durably as to a change.
type Repeat struct {
	Key         Key
	Idempotency *Idempotency
}

func (c Repeat) Target() Key { return c.Key }

// Action implements Change, but no log has it, because a Repeat changes nothing.
func (c Repeat) Action() string { return "task.create" }

// Apply returns the present state of the task that the request made. Errors:
// ErrNotFound if the request made none, ErrIdempotencyReuse.
func (c Repeat) Apply(now Millis, old *Task, _ Facts) (Result, error) {
	switch repeated, err := old.Repeats(c.Idempotency); {
	case err != nil:
		return Result{}, err
	case !repeated:
		return Result{}, ErrNotFound
	}
	return Result{Task: old, Effect: Repeated, UnderWay: old.UnderWay(now)}, nil
}
