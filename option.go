package foliot

import (
	"maps"
	"time"

	"github.com/foliot/foliot/internal/task"
)

// Option sets a property of a task, and options of NewKind are the defaults of
// all tasks of the kind. If no option sets a property, the default of the queue
// applies, or else the default in the comment of the option.
type Option func(*request)

// Queue puts the task into a queue. All tasks of a queue share its limits,
// which are set with `foliot queue` or on the web page, through package
// foliot/admin. Default: "default".
func Queue(name string) Option { return func(r *request) { r.queue = name } }

// Priority decides which due tasks of a queue start first.
type Priority uint8

// The priorities. If tasks of all three are due, 16 of 21 started tasks are
// High, 4 are Normal and 1 is Low.
const (
	High   Priority = Priority(task.High)
	Normal Priority = Priority(task.Normal)
	Low    Priority = Priority(task.Low)
)

// WithPriority sets the priority. Default: Normal.
func WithPriority(p Priority) Option { return func(r *request) { r.priority = task.Priority(p) } }

// Label sets a label of the task, by which operators can find it.
func Label(key, value string) Option {
	return func(r *request) {
		r.labels = maps.Clone(r.labels) // the defaults of a kind are shared
		if r.labels == nil {
			r.labels = map[string]string{}
		}
		r.labels[key] = value
	}
}

// Timeout sets the time limit of one attempt, from 1ms to 1h: after it, the
// context of the handler ends. Default: 15s.
func Timeout(d time.Duration) Option { return func(r *request) { r.timeout = &d } }

// ExpireAfter sets how long after its due time the first attempt may start. If
// it has not started by then, the task expires. Default: 0, which means no
// limit.
func ExpireAfter(d time.Duration) Option { return func(r *request) { r.expireAfter = &d } }

// MaxAttempts sets the number of failed attempts after which a task is dead.
// Default: 0, which means that only MaxAge limits the attempts.
func MaxAttempts(n int) Option { return func(r *request) { r.maxAttempts = &n } }

// Backoff sets the wait after the first failure, and the longest wait. Each
// further failure doubles the wait, and a random part of at most half is taken
// off each. Defaults: 1s, 1h.
func Backoff(first, longest time.Duration) Option {
	return func(r *request) { r.minBackoff, r.maxBackoff = &first, &longest }
}

// MaxAge limits the total time of all attempts and of the waits between them.
// After that the task is dead. Time during which no process ran does not count,
// and 0 means no limit. Default: 24h.
func MaxAge(d time.Duration) Option { return func(r *request) { r.maxAge = &d } }

// Default is an Option of NewKind.
type Default = Option

// request is a task that a caller wants to create, before the defaults of its
// queue apply, where a nil pointer is a property that no option sets.
type request struct {
	name        string
	work        task.Request
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

func newRequest(name string, work task.Request, defaults, options []Option) *request {
	r := &request{name: name, work: work, queue: task.DefaultQueue, priority: task.Normal}
	for _, o := range defaults {
		o(r)
	}
	for _, o := range options {
		o(r)
	}
	return r
}

// spec returns the spec of the task, from a spec with the defaults of its
// queue.
func (r *request) spec(spec task.Spec, namespace string, now task.Millis) task.Spec {
	spec.Key, spec.ID = task.Key{Namespace: namespace, Name: r.name}, task.NewID(now)
	spec.Queue, spec.Priority, spec.Labels, spec.When = r.queue, r.priority, r.labels, r.when.task()
	spec.Request = r.work
	if r.work.Kind != "" {
		spec.OnDead = "" // OnDead is a URL, and a process with handlers may send no requests
	}
	task.Set(&spec.Timeout, r.timeout)
	task.Set(&spec.ExpireAfter, r.expireAfter)
	task.Set(&spec.Retry.MaxAttempts, r.maxAttempts)
	task.Set(&spec.Retry.MinBackoff, r.minBackoff)
	task.Set(&spec.Retry.MaxBackoff, r.maxBackoff)
	task.Set(&spec.Retry.MaxAge, r.maxAge)
	return spec
}
