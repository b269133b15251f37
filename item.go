package foliot

import (
	"cmp"
	"encoding/json"
	"maps"
	"time"

	"github.com/foliot/foliot/internal/engine"
	"github.com/foliot/foliot/internal/task"
)

// Item is a task to create: a result of Kind.Item for CreateMany and PutMany. If
// it cannot be created, because its arguments cannot be encoded for example, the
// call returns the error as the result of the item.
type Item struct {
	item   engine.Item
	atOnce *int // of AtOnce; nil: no limit
}

// Name returns the name of the task, for a program that wraps or replaces a
// Scheduler.
func (i Item) Name() string { return i.item.Name }

// Option sets a property of a task, and options of NewKind are the defaults of
// all tasks of the kind. If no option sets a property, the default of the queue
// applies, or else the default in the comment of the option.
type Option func(*Item)

// InQueue puts the task into a queue. All tasks of a queue share its limits,
// which Scheduler.Queues sets. Default: "default".
func InQueue(name string) Option { return func(i *Item) { i.item.Queue = name } }

// PriorityLevel is a priority of a task: High, Normal or Low. The zero
// PriorityLevel is Normal.
type PriorityLevel int8

// The priorities. If tasks of all three are due, 16 of 21 started tasks are
// High, 4 are Normal and 1 is Low.
const (
	Low PriorityLevel = iota - 1
	Normal
	High
)

// Priority decides which due tasks of a queue start first. Default: Normal.
func Priority(p PriorityLevel) Option {
	return func(i *Item) { i.item.Priority = task.Priority(int8(task.Normal) - int8(p)) } // the highest has the smallest number there
}

// Label sets a label of the task, by which List and operators can find it.
func Label(key, value string) Option {
	return func(i *Item) {
		i.item.Labels = maps.Clone(i.item.Labels) // two items may share an option, but not a map
		if i.item.Labels == nil {
			i.item.Labels = map[string]string{}
		}
		i.item.Labels[key] = value
	}
}

// Timeout sets the time limit of one attempt, from 1ms to 1h: after it, the
// context of the handler ends. Default: 15s.
func Timeout(d time.Duration) Option { return func(i *Item) { i.item.Timeout = &d } }

// ExpireAfter sets how long after its due time the first attempt may start. If
// it has not started by then, the task expires. Default: 0, which means no
// limit.
func ExpireAfter(d time.Duration) Option { return func(i *Item) { i.item.ExpireAfter = &d } }

// MaxAttempts sets the number of failed attempts after which a task is dead.
// Default: 0, which means that only MaxAge limits the attempts.
func MaxAttempts(n int) Option { return func(i *Item) { i.item.MaxAttempts = &n } }

// Backoff sets the wait after the first failure, and the longest wait. Each
// further failure doubles the wait, and a random part of at most half is taken
// off each. Defaults: 1s, 1h.
func Backoff(first, longest time.Duration) Option {
	return func(i *Item) { i.item.MinBackoff, i.item.MaxBackoff = &first, &longest }
}

// MaxAge limits the total time of all attempts and of the waits between them.
// After that the task is dead. Time during which no process ran does not count,
// and 0 means no limit. Default: 24h.
func MaxAge(d time.Duration) Option { return func(i *Item) { i.item.MaxAge = &d } }

// AtOnce limits how many handlers of the kind each process runs at the same
// time. It is an option of NewKind only: Open returns an error if n is below 1,
// and a task with this option is not valid. Without AtOnce, a kind can use all of
// Options.Concurrency. To limit a kind in all processes together, set the limits
// of its queue.
func AtOnce(n int) Option { return func(i *Item) { i.atOnce = &n } }

// Item returns a task for CreateMany or PutMany. The arguments are encoded at
// once, so args may be changed after the call.
func (k Kind[A]) Item(name string, w When, args A, options ...Option) Item {
	i := k.defaults()
	i.atOnce = nil
	for _, o := range options {
		o(&i)
	}
	i.item.Name, i.item.When = name, w.task()
	i.item.Work, i.item.Err = k.work(args)
	if i.atOnce != nil {
		i.item.Err = invalid("AtOnce is an option of NewKind only: limit single tasks by the concurrency of their queue")
	}
	i.item.Err = cmp.Or(w.err, i.item.Err)
	return i
}

// defaults returns a task of the kind with the options of NewKind.
func (k Kind[A]) defaults() Item {
	i := Item{item: engine.Item{Queue: task.DefaultQueue, Priority: task.Normal}}
	for _, o := range k.options {
		o(&i)
	}
	return i
}

// work returns what a task does, or an error if the kind has no name and is not
// HTTP, or if args cannot be encoded as JSON or are too long.
func (k Kind[A]) work(args A) (task.Request, error) {
	if k.name == "" {
		if r, is := any(args).(Request); is {
			return r.task()
		}
		return task.Request{}, invalid("the kind has no name: make it with NewKind")
	}
	data, err := json.Marshal(args)
	switch {
	case err != nil:
		return task.Request{}, invalid("cannot encode the arguments as JSON: %v", err)
	case len(data) > task.MaxBody:
		return task.Request{}, invalid("the arguments have %d bytes as JSON, but may have at most %d: store them elsewhere, and pass their key", len(data), task.MaxBody)
	}
	return task.Request{Kind: k.name, Body: data, BodySize: len(data), BodyKind: task.JSONBody}, nil
}
