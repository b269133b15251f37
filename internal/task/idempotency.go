package task

// Idempotency marks a task that was made by a request with an Idempotency-Key.
type Idempotency struct {
	Key         string // digest of the key
	Fingerprint string // digest of the request: the same key with another one is an error
}

// maxReplaced is how many replaced incarnations a record remembers. A client repeats a
// replace within seconds, and few other replaces of one name come in between.
const maxReplaced = 4

// repeats reports whether i marks the same request as made. i may be nil. Errors: ErrIdempotencyReuse.
func (i *Idempotency) repeats(made Idempotency) (bool, error) {
	switch {
	case i == nil || i.Key != made.Key:
		return false, nil
	case i.Fingerprint != made.Fingerprint:
		return false, ErrIdempotencyReuse
	}
	return true, nil
}

// Repeats reports whether a request that is marked with i made t, or an incarnation that t
// replaced. t and i may be nil. Errors: ErrIdempotencyReuse.
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

// KeyOf returns the Idempotency-Key's digest of a change that makes a task, "" for none.
func KeyOf(change any) string {
	var i *Idempotency
	switch c := change.(type) {
	case Create:
		i = c.Idempotency
	case Replace:
		i = c.Idempotency
	}
	if i == nil {
		return ""
	}
	return i.Key
}

// Repeat finds out whether a request is the repeat of one that made a task. It changes nothing, and
// a store answers it as durably as a change.
type Repeat struct {
	Key         Key
	Idempotency *Idempotency
}

// Target returns the key of the task that the request would make.
func (c Repeat) Target() Key { return c.Key }

// Action implements Change. A change without effect has no entry in the audit log.
func (c Repeat) Action() string { return "task.create" }

// Apply returns the task that the request made, as it is now. Errors: ErrNotFound if the request
// made none, ErrIdempotencyReuse.
func (c Repeat) Apply(now Millis, old *Task, _ Facts) (Result, error) {
	switch repeated, err := old.Repeats(c.Idempotency); {
	case err != nil:
		return Result{}, err
	case !repeated:
		return Result{}, ErrNotFound
	}
	return Result{Task: old, Effect: Repeated, UnderWay: old.UnderWay(now)}, nil
}
