package sqltask

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store/kernel"
	"github.com/foliot/foliot/internal/task"
)

// Operation is a change that an SQL function has left in the column pending of a task.
// Each read applies the operations in memory, and each write stores the result in their
// place. At the latest the owner of the shard writes them, when it reads their news.
type Operation struct {
	Op  string      // put, cancel, move or touch
	By  string      // the role that called the function
	Now task.Millis // when it was called

	Due   task.Millis    // of a put or a move without a Delay
	Delay *time.Duration // of a put or a move

	// The fields of a put; nil and "" are the defaults of the queue.
	ID, URL, Method, Kind, Queue, Priority string
	Headers, Labels                        map[string]string
	Body                                   *string // JSON, apart because it can be too deep for Go
	Bytes                                  []byte
	Timeout, ExpireAfter                   *time.Duration
	MinBackoff, MaxBackoff, MaxAge         *time.Duration
	MaxAttempts                            *int
	OnDead                                 *string

	undecoded error // some of the fields above are not those of the functions
}

// change returns the change that o asks for. The functions have checked o as far as
// they can, and err is the first error of the other checks.
func (o *Operation) change(embedded bool, key task.Key, all *settings.Settings) (c task.Change, err error) {
	when := task.When{At: o.Due}
	if o.Delay != nil {
		when = task.When{Relative: true, Delay: *o.Delay}
	}
	switch o.Op {
	case "cancel":
		return task.Cancel{Key: key}, nil
	case "touch":
		return task.Touch{Key: key}, nil
	case "move":
		return task.Patch{Key: key, When: &when}, nil
	}
	s := all.Queue(key.Namespace, o.Queue).Spec()
	s.Key, s.ID, s.Queue, s.Labels, s.When = key, o.ID, o.Queue, o.Labels, when
	s.Priority, _ = task.ParsePriority(o.Priority)
	s.Request = task.Request{URL: o.URL, Method: cmp.Or(o.Method, task.DefaultMethod), Headers: o.Headers}
	var text string
	err = o.undecoded
	switch {
	case o.Bytes != nil:
		s.Request.BodyKind, s.Request.Body = task.BinaryBody, o.Bytes
	case o.Body == nil:
	case o.Kind == "" && json.Unmarshal([]byte(*o.Body), &text) == nil:
		s.Request.BodyKind, s.Request.Body = task.TextBody, []byte(text)
	case json.Valid([]byte(*o.Body)):
		s.Request.BodyKind, s.Request.Body = task.JSONBody, []byte(*o.Body)
	default:
		err = errors.New("the body is nested too deeply: at most 10000 arrays and objects can contain each other")
	}
	task.Set(&s.Timeout, o.Timeout)
	task.Set(&s.ExpireAfter, o.ExpireAfter)
	task.Set(&s.Retry.MinBackoff, o.MinBackoff)
	task.Set(&s.Retry.MaxBackoff, o.MaxBackoff)
	task.Set(&s.Retry.MaxAge, o.MaxAge)
	task.Set(&s.Retry.MaxAttempts, o.MaxAttempts)
	if o.Kind != "" {
		s.Request.Kind, s.Request.Method = o.Kind, ""
		if n := all.Namespace(key.Namespace); embedded {
			s.OnDead = "" // it is a URL, and a program with handlers may send no requests
		} else if n != nil && !n.Kinds {
			err = fmt.Errorf("the namespace %q does not allow tasks with a kind: if a program runs its tasks, allow them with foliot namespace set --kinds", key.Namespace)
		}
	}
	task.Set(&s.OnDead, o.OnDead)
	err = cmp.Or(s.Validate(o.Now), err) // sets the destination
	return task.Replace{Spec: s}, err
}

// Apply sets the task of r to the result of its pending operations on the stored task.
// A put that is refused makes a dead task, unless an attempt is under way: then the next
// one of the new task fails. The results are the notice of its death, and the error if
// a quota has refused it.
func (r *Record) Apply(embedded bool, key task.Key, f kernel.Facts) (notice *task.Task, exceeded error) {
	t := r.Stored
	for i := range r.Pending {
		o := &r.Pending[i]
		c, why := o.change(embedded, key, f.Settings())
		policy := f.Settings().Policy(f.Retention(), key.Namespace, cmp.Or(o.Queue, queueOf(t)))
		result, err := c.Apply(o.Now, t, task.Facts{Policy: policy})
		if err != nil { // the state of a refused put allows nothing else
			continue
		}
		if o.Op == "put" && why == nil {
			q := f.Quota(key.Namespace)
			exceeded = q.Admit(t, result.Task)
			why = exceeded
		}
		task.Sign(o.Now, settings.SQLRole+o.By, c, t, result)
		if t = result.Task; why != nil && t.State != task.Running {
			refused := t.Refuse(o.Now, why, policy)
			t, notice = refused.Task, refused.Spawned
		}
	}
	r.Task = t
	return notice, exceeded
}

// unlimited are the kernel.Facts of a read, for which quotas do not count.
type unlimited struct {
	settings *settings.Settings
	policy   task.Policy
}

func (u unlimited) Settings() *settings.Settings { return u.settings }
func (u unlimited) Retention() task.Policy       { return u.policy }
func (u unlimited) Quota(string) task.Quota      { return task.Quota{} }
func (u unlimited) Unfinished(task.Key) int64    { return 0 }
func (u unlimited) Room(kernel.Need) error       { return nil }

func queueOf(t *task.Task) string {
	if t == nil {
		return ""
	}
	return t.Queue
}

// Pend decodes the pending operations of f, and applies them without quotas, which count
// when the result is written.
func (f *Found) Pend(embedded bool, key task.Key, operations []byte, in *settings.Settings, policy task.Policy) error {
	if operations == nil {
		return nil
	}
	if err := json.Unmarshal(operations, &f.Pending); len(f.Pending) == 0 {
		return fmt.Errorf("the pending operations of task %q in namespace %q: %w", key.Name, key.Namespace, err)
	} else if err != nil { // it has decoded what it can
		for i := range f.Pending {
			f.Pending[i].undecoded = err
		}
	}
	f.Stored = f.Task
	_, _ = f.Apply(embedded, key, unlimited{in, policy})
	if q := f.Task.Request; q.Body != nil || q.BodySize == 0 {
		f.Body = q.Body
	}
	return nil
}

// Applying is the transition of a step that only writes pending operations.
type Applying struct {
	Pending bool // the record was read, and has some
}

// Apply implements task.Transition. Errors: task.ErrStale if there is nothing to write.
func (a *Applying) Apply(_ task.Millis, old *task.Task, _ task.Facts) (task.Result, error) {
	if !a.Pending {
		return task.Result{}, task.ErrStale
	}
	return task.Result{Task: old}, nil
}

// MaxUnapplied is the largest number of tasks in an Unapplied: a transaction can change
// millions.
const MaxUnapplied = 10_000

// Unapplied has tasks with pending operations in the shards of this process. Take
// returns the newest first, because older ones can be millions.
type Unapplied struct {
	News chan struct{} // some were added

	mu      sync.Mutex // guards everything below
	keys    []string   // each once; the last one is the first to be taken
	fresh   int        // the last ones of keys, which were not deferred
	has     map[string]bool
	omitted bool      // there were too many
	looked  time.Time // when Take last reported that
}

// NewUnapplied returns an Unapplied without tasks.
func NewUnapplied() *Unapplied {
	return &Unapplied{News: make(chan struct{}, 1), has: map[string]bool{}}
}

// Add adds tasks by their keys in the tables, in front of the others.
func (u *Unapplied) Add(keys ...string) { u.add(keys, true) }

// Defer adds tasks behind the others, and is no news.
func (u *Unapplied) Defer(keys ...string) { u.add(keys, false) }

func (u *Unapplied) add(keys []string, front bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	added := slices.DeleteFunc(slices.Clone(keys), func(k string) bool {
		before := u.has[k]
		u.has[k] = true
		return before
	})
	if front {
		u.keys, u.fresh = append(u.keys, added...), u.fresh+len(added)
		defer u.Wake()
	} else {
		u.keys = append(added, u.keys...)
	}
	if most := len(u.keys) - MaxUnapplied; most > 0 {
		for _, k := range u.keys[:most] {
			delete(u.has, k)
		}
		u.keys, u.omitted = slices.Clone(u.keys[most:]), true
		u.fresh = min(u.fresh, len(u.keys))
	}
}

// Wake makes News ready.
func (u *Unapplied) Wake() {
	select {
	case u.News <- struct{}{}:
	default:
	}
}

// Omit notes that there are tasks that were not added.
func (u *Unapplied) Omit() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.omitted = true
	u.Wake()
}

// Take removes and returns some tasks, deferred ones apart, because they can be locked. If
// there is room, it reports instead that some were omitted, once a second while others are
// deferred: then the caller must look for them.
func (u *Unapplied) Take() (keys []task.Key, omitted bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.omitted && u.fresh == 0 && (len(u.keys) == 0 || len(u.keys) < MaxUnapplied && time.Since(u.looked) > time.Second) {
		u.omitted, u.looked = false, time.Now()
		return nil, true
	}
	for deferred := u.fresh == 0; len(u.keys) > 0 && len(keys) < MaxRows && (deferred || u.fresh > 0); {
		last := len(u.keys) - 1
		delete(u.has, u.keys[last])
		if k, err := ParseKey(u.keys[last]); err == nil {
			keys = append(keys, k)
		}
		u.keys, u.fresh = u.keys[:last], max(u.fresh-1, 0)
	}
	return keys, false
}
