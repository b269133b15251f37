package foliot

import (
	"maps"
	"time"

	"github.com/foliot/foliot/internal/task"
)

// Option sets a property of a task. Options of NewKind are the defaults of all
// tasks of the kind. What no option sets has the default of the queue, and
// otherwise the default that the option names.
type Option func(*request)

// Queue puts the task into a queue. All tasks of a queue share its limits, which
// package foliot/admin, `foliot queue` and the web page set. Default: "default".
func Queue(name string) Option { return func(r *request) { r.queue = name } }

// Priority is the order in which due tasks of a queue start.
type Priority uint8

// The priorities. If tasks of all three are due, 16 of 21 starts are of High, 4
// of Normal and 1 of Low.
const (
	High   Priority = Priority(task.High)
	Normal Priority = Priority(task.Normal)
	Low    Priority = Priority(task.Low)
)

// WithPriority sets the priority. Default: Normal.
func WithPriority(p Priority) Option { return func(r *request) { r.priority = task.Priority(p) } }

// Label sets a label, by which the task can be found.
func Label(key, value string) Option {
	return func(r *request) {
		r.labels = maps.Clone(r.labels) // the defaults of a kind are shared
		if r.labels == nil {
			r.labels = map[string]string{}
		}
		r.labels[key] = value
	}
}

// Timeout is the time limit of one attempt, from 1ms to 1h: the context of the
// handler ends after it. Default: 15s.
func Timeout(d time.Duration) Option { return func(r *request) { r.timeout = &d } }

// ExpireAfter sets how long after its due time the first attempt may start.
// After that the task expires. 0 means no limit, the default.
func ExpireAfter(d time.Duration) Option { return func(r *request) { r.expireAfter = &d } }

// MaxAttempts is the number of attempts after which a task is dead. 0 means that
// only MaxAge limits them, the default.
func MaxAttempts(n int) Option { return func(r *request) { r.maxAttempts = &n } }

// Backoff sets the wait after the first failure, and the longest wait. Each wait
// is twice as long as the one before, less a random part of at most half.
// Defaults: 1s, 1h.
func Backoff(first, longest time.Duration) Option {
	return func(r *request) { r.minBackoff, r.maxBackoff = &first, &longest }
}

// MaxAge limits the time of all attempts and of the waits between them. Time in
// which no process ran does not count. 0 means no limit. Default: 24h.
func MaxAge(d time.Duration) Option { return func(r *request) { r.maxAge = &d } }

// Default is an Option of NewKind.
type Default = Option

// request is a task that a caller wants, before the defaults of its queue.
type request struct {
	name, kind  string
	args        []byte
	when        When
	queue       string
	priority    task.Priority
	labels      map[string]string
	timeout     *time.Duration
	expireAfter *time.Duration
	maxAttempts *int
	minBackoff  *time.Duration
	maxBackoff  *time.Duration
	maxAge      *time.Duration
}

func newRequest(name, kind string, args []byte, defaults, options []Option) *request {
	r := &request{name: name, kind: kind, args: args, queue: task.DefaultQueue, priority: task.Normal}
	for _, o := range defaults {
		o(r)
	}
	for _, o := range options {
		o(r)
	}
	return r
}

// spec returns the task, with the defaults of its queue in spec.
func (r *request) spec(spec task.Spec, namespace string, now task.Millis) task.Spec {
	spec.Key, spec.ID = task.Key{Namespace: namespace, Name: r.name}, task.NewID(now)
	spec.Queue, spec.Priority, spec.Labels, spec.When = r.queue, r.priority, r.labels, r.when.task()
	spec.Request = task.Request{Kind: r.kind, Body: r.args, BodySize: len(r.args), BodyKind: task.JSONBody}
	spec.OnDead = "" // a handler can do that, and this process sends no requests
	set(&spec.Timeout, r.timeout)
	set(&spec.ExpireAfter, r.expireAfter)
	set(&spec.Retry.MaxAttempts, r.maxAttempts)
	set(&spec.Retry.MinBackoff, r.minBackoff)
	set(&spec.Retry.MaxBackoff, r.maxBackoff)
	set(&spec.Retry.MaxAge, r.maxAge)
	return spec
}

// set stores *v in *field if v is not nil.
func set[T any](field, v *T) {
	if v != nil {
		*field = *v
	}
}
