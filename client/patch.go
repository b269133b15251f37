package client

import (
	"time"

	"github.com/foliot/foliot/internal/wire"
)

// Patch changes fields of a task. A zero field leaves the task's field as it
// is. Set and Reset make fields that change it, and the server refuses a Patch
// without any.
//
//	client.Patch{Delay: client.Set(30 * time.Minute), Queue: client.Set("mail"), RemoveLabels: []string{"draft"}}
type Patch struct {
	At    Field[time.Time]     // set at most one of At and Delay; neither can be reset
	Delay Field[time.Duration] // counted from when the server accepts the patch

	URL         Field[string]
	Method      Field[string]
	Body        Field[Body] // replaced as a whole; Reset removes it
	Args        Field[Body] // of Work: replaced as a whole; Reset removes them
	Queue       Field[string]
	Timeout     Field[time.Duration]
	Priority    Field[Priority]
	ExpireAfter Field[Duration]   // Forever: it never expires
	OnDead      Field[DeadNotice] // NoDeadNotice: none

	MaxAttempts Field[Limit] // Unlimited: only MaxAge ends them
	MinBackoff  Field[time.Duration]
	MaxBackoff  Field[time.Duration]
	MaxAge      Field[Duration] // Forever: no limit

	Labels        map[string]string // merged into the existing labels
	RemoveLabels  []string
	Headers       map[string]string // merged into the existing headers; names ignore case
	RemoveHeaders []string
}

// Field is one field of a patch. The zero Field leaves it as it is.
type Field[T any] struct {
	change fieldChange
	value  T
}

type fieldChange uint8

const (
	stays fieldChange = iota
	isSet
	isReset
)

// Set changes a field to v. A zero [Duration], [Limit] or [DeadNotice] leaves
// the choice to the queue, so Set of it is the same as Reset.
func Set[T any](v T) Field[T] { return Field[T]{change: isSet, value: v} }

// Reset changes a field to its default: the queue's, if queues have one.
func Reset[T any]() Field[T] { return Field[T]{change: isReset} }

// encode returns the patch as the API takes it.
func (p Patch) encode() ([]byte, error) {
	var whole, request, work, retry object
	addField(&whole, "at", p.At, instant)
	addField(&whole, "delay", p.Delay, time.Duration.String)
	addField(&whole, "queue", p.Queue, same)
	addField(&whole, "timeout", p.Timeout, time.Duration.String)
	addChoice(&whole, "expire_after", p.ExpireAfter, Duration.wire)
	addChoice(&whole, "on_dead", p.OnDead, DeadNotice.wire)
	addField(&whole, "priority", p.Priority, same)
	addMap(&whole, "labels", p.Labels, p.RemoveLabels)

	addField(&request, "url", p.URL, same)
	addField(&request, "method", p.Method, same)
	headers, err := p.addBody(&request)
	if err != nil {
		return nil, err
	}
	addMap(&request, "headers", headers, p.RemoveHeaders)

	addChoice(&retry, "max_attempts", p.MaxAttempts, Limit.wire)
	addField(&retry, "min_backoff", p.MinBackoff, time.Duration.String)
	addField(&retry, "max_backoff", p.MaxBackoff, time.Duration.String)
	addChoice(&retry, "max_age", p.MaxAge, Duration.wire)

	if err := addArgs(&work, p.Args); err != nil {
		return nil, err
	}

	addObject(&whole, "http", &request)
	addObject(&whole, "work", &work)
	addObject(&whole, "retry", &retry)
	return whole.bytes()
}

// addBody adds the body and returns the headers, including one that the body
// may need.
func (p Patch) addBody(request *object) (map[string]string, error) {
	switch p.Body.change {
	case stays:
		return p.Headers, nil
	case isReset:
		request.raw("body", []byte("null"))
		return p.Headers, nil
	}
	h := wire.HTTPInput{Headers: p.Headers}
	if err := p.Body.value.put(&h); err != nil {
		return nil, err
	}
	switch {
	case h.Body != nil:
		request.raw("body", h.Body)
	case h.BodyBase64 != nil:
		request.set("body_base64", *h.BodyBase64)
	default:
		request.raw("body", []byte("null"))
	}
	return h.Headers, nil
}

// addArgs adds the arguments of a handler, byte for byte.
func addArgs(work *object, f Field[Body]) error {
	if f.change == stays {
		return nil
	}
	args, err := f.value.args()
	if len(args) == 0 {
		args = []byte("null")
	}
	work.raw("args", args)
	return err
}

func same[T any](v T) T { return v }

// addField adds f, converted by word, if it changes anything.
func addField[T, W any](o *object, key string, f Field[T], word func(T) W) {
	switch f.change {
	case isSet:
		o.set(key, word(f.value))
	case isReset:
		o.raw(key, []byte("null"))
	}
}

// addChoice is addField for a type whose zero value leaves the choice to the
// queue. The API writes that as null.
func addChoice[T comparable, W any](o *object, key string, f Field[T], word func(T) W) {
	var queues T
	if f.change == isSet && f.value == queues {
		f = Reset[T]()
	}
	addField(o, key, f, word)
}

// addMap adds the keys to merge into a map and the keys to remove from it.
func addMap(o *object, key string, merge map[string]string, remove []string) {
	if len(merge)+len(remove) == 0 {
		return
	}
	values := make(map[string]*string, len(merge)+len(remove))
	for _, k := range remove {
		values[k] = nil
	}
	for k, v := range merge {
		values[k] = &v
	}
	o.set(key, values)
}

// addObject adds inner, unless it is empty.
func addObject(o *object, key string, inner *object) {
	if inner.empty() {
		return
	}
	value, err := inner.bytes()
	if o.err == nil {
		o.err = err
	}
	o.raw(key, value)
}
