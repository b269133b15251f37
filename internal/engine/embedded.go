package engine

import (
	"context"
	"time"

	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/task/recurrence"
)

// Package foliot sets these functions for its other packages, because the
// fields of its types are not exported. Each panics if its argument is not of
// the type in its comment.
var (
	Of       func(node any) *Node                        // a *foliot.Node
	NewStore func(Medium) any                            // returns a foliot.Store
	ItemOf   func(item any) *Item                        // a foliot.Item
	WhenOf   func(when any) (task.When, error)           // a foliot.When
	RuleOf   func(rule any) (r recurrence.Rule, _ error) // a foliot.Rule
)

// Attempt is an attempt that a handler makes. The context of the handler has it as the
// value of AttemptKey.
type Attempt interface {
	Node() *Node
	// Complete settles the attempt with success. The store finds the transaction in ctx.
	Complete(ctx context.Context) error
}

// AttemptKey is the key of an Attempt in a context.
type AttemptKey struct{}

// Item is a task that a program creates, before the defaults of its queue apply.
// A nil pointer is a property that the program does not set.
type Item struct {
	Err error // why it cannot be created; its other fields are not valid then

	Name        string
	Work        task.Request
	When        task.When
	Queue       string
	Priority    task.Priority
	Labels      map[string]string
	Timeout     *time.Duration
	ExpireAfter *time.Duration
	MaxAttempts *int
	MinBackoff  *time.Duration
	MaxBackoff  *time.Duration
	MaxAge      *time.Duration
}

// Spec returns the spec of the task, from a spec with the defaults of its queue.
func (i *Item) Spec(spec task.Spec, namespace string, now task.Millis) task.Spec {
	spec.Key, spec.ID = task.Key{Namespace: namespace, Name: i.Name}, task.NewID(now)
	spec.Queue, spec.Priority, spec.Labels, spec.When, spec.Request = i.Queue, i.Priority, i.Labels, i.When, i.Work
	if i.Work.Kind != "" {
		spec.OnDead = "" // OnDead is a URL, and a process with handlers may send no requests
	}
	task.Set(&spec.Timeout, i.Timeout)
	task.Set(&spec.ExpireAfter, i.ExpireAfter)
	task.Set(&spec.Retry.MaxAttempts, i.MaxAttempts)
	task.Set(&spec.Retry.MinBackoff, i.MinBackoff)
	task.Set(&spec.Retry.MaxBackoff, i.MaxBackoff)
	task.Set(&spec.Retry.MaxAge, i.MaxAge)
	return spec
}
