package client

import (
	"time"

	"github.com/foliot/foliot/client/internal/convert"
	"github.com/foliot/foliot/internal/timespan"
	"github.com/foliot/foliot/internal/wire"
)

// Patch changes fields of a task. A zero field leaves the task's field as it
// is, while Set and Reset make fields that change it; the server refuses a
// Patch without any.
//
//	client.Patch{Delay: client.Set(30 * time.Minute), Queue: client.Set("mail"), RemoveLabels: []string{"draft"}}
type Patch struct {
	// At most one of At, Local and Delay is set. They cannot be reset.
	At       Field[time.Time]
	Local    Field[string] // with TimeZone: see Spec.Local
	TimeZone Field[string]
	Delay    Field[time.Duration] // counted from when the server accepts the patch

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

// Field is one field of a patch, which the zero Field leaves as it is.
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

// object is a JSON object, in which a json.RawMessage stays byte for byte.
type object map[string]any

// encode returns the patch as the API takes it.
func (p Patch) encode() ([]byte, error) {
	whole, request, work, retry := object{}, object{}, object{}, object{}
	addField(whole, "at", p.At, convert.Instant)
	addField(whole, "at", p.Local, same)
	addField(whole, "timezone", p.TimeZone, same)
	addField(whole, "delay", p.Delay, timespan.Text)
	addField(whole, "queue", p.Queue, same)
	addField(whole, "timeout", p.Timeout, timespan.Text)
	addChoice(whole, "expire_after", p.ExpireAfter, Duration.wire)
	addChoice(whole, "on_dead", p.OnDead, DeadNotice.wire)
	addField(whole, "priority", p.Priority, same)
	addMap(whole, "labels", p.Labels, p.RemoveLabels)

	addField(request, "url", p.URL, same)
	addField(request, "method", p.Method, same)
	h := wire.HTTPInput{Headers: p.Headers}
	if p.Body.change != stays {
		if err := p.Body.value.put(&h); err != nil {
			return nil, err
		}
		if h.BodyBase64 != nil {
			request["body_base64"] = h.BodyBase64
		} else {
			request["body"] = h.Body // null without a body
		}
	}
	addMap(request, "headers", h.Headers, p.RemoveHeaders)

	addChoice(retry, "max_attempts", p.MaxAttempts, Limit.wire)
	addField(retry, "min_backoff", p.MinBackoff, timespan.Text)
	addField(retry, "max_backoff", p.MaxBackoff, timespan.Text)
	addChoice(retry, "max_age", p.MaxAge, Duration.wire)

	if p.Args.change != stays {
		args, err := p.Args.value.args()
		if err != nil {
			return nil, err
		}
		work["args"] = args // null without arguments
	}

	for name, part := range map[string]object{"http": request, "work": work, "retry": retry} {
		if len(part) > 0 {
			whole[name] = part
		}
	}
	return convert.Marshal(whole)
}

func same[T any](v T) T { return v }

// addField adds f, converted by word, if it changes anything.
func addField[T, W any](o object, key string, f Field[T], word func(T) W) {
	switch f.change {
	case isSet:
		o[key] = word(f.value)
	case isReset:
		o[key] = nil
	}
}

// addChoice is addField for a type whose zero value leaves the choice to the
// queue, which the API writes as null.
func addChoice[T comparable, W any](o object, key string, f Field[T], word func(T) W) {
	var queues T
	if f.change == isSet && f.value == queues {
		f = Reset[T]()
	}
	addField(o, key, f, word)
}

// addMap adds the keys to merge into a map and the keys to remove from it.
func addMap(o object, key string, merge map[string]string, remove []string) {
	if len(merge)+len(remove) == 0 {
		return
	}
	values := object{}
	for _, k := range remove {
		values[k] = nil
	}
	for k, v := range merge {
		values[k] = v
	}
	o[key] = values
}
