package foliot

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"reflect"
	"strconv"
	"sync"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// CreateMany implements Scheduler.
func (n *Node) CreateMany(ctx context.Context, items []Item) ([]Result, error) {
	return n.putMany(ctx, items, func(s task.Spec) task.Change { return task.Create{Spec: s} })
}

// PutMany implements Scheduler.
func (n *Node) PutMany(ctx context.Context, items []Item) ([]Result, error) {
	return n.putMany(ctx, items, func(s task.Spec) task.Change { return task.Replace{Spec: s} })
}

func (n *Node) putMany(ctx context.Context, items []Item, change func(task.Spec) task.Change) ([]Result, error) {
	standing, trace := n.core.Store.Standing(), ""
	if n.options.Tracer != nil {
		trace = n.options.Tracer.Traceparent(ctx)
	}
	results := make([]Result, len(items))
	err := n.many(ctx, len(items), func(i int, now task.Millis) (task.Change, int, error) {
		item := &items[i].item
		if item.Err != nil {
			return nil, 0, item.Err
		}
		spec := item.Spec(standing.Settings.Queue(n.options.Namespace, item.Queue).Spec(), n.options.Namespace, now)
		spec.Trace = trace
		if err := spec.Validate(now); err != nil {
			return nil, 0, err
		}
		return change(spec), item.Work.BodySize, nil
	}, func(i int, r store.Reply, err error) {
		if results[i].Err = translate(ofTask, items[i].item.Name, err); err == nil {
			results[i].Info = n.infoOf(r.Task)
			results[i].Info.Durability = cmp.Or(r.Durability, standing.Durability)
		}
	})
	return results, firstFailure(results, func(r Result) error { return r.Err }, err)
}

// firstFailure returns err, or else the first error of a call that failed as a whole.
func firstFailure[R any](results []R, of func(R) error, err error) error {
	for i := 0; i < len(results) && err == nil; i++ {
		if e := of(results[i]); errors.Is(e, ErrUnavailable) || errors.Is(e, ErrClosed) {
			err = e
		}
	}
	return err
}

// CancelMany implements Scheduler.
func (n *Node) CancelMany(ctx context.Context, names []string) ([]CancelResult, error) {
	results := make([]CancelResult, len(names))
	err := n.many(ctx, len(names), func(i int, _ task.Millis) (task.Change, int, error) {
		return task.Cancel{Key: n.key(names[i])}, 0, nil
	}, func(i int, r store.Reply, err error) {
		results[i] = CancelResult{Cancelled{r.UnderWay, r.Already}, translate(ofTask, names[i], err)}
	})
	return results, firstFailure(results, func(r CancelResult) error { return r.Err }, err)
}

// chunksAtOnce is the maximum number of chunks of one call that the store has at
// once: while it syncs one, it can apply others.
const chunksAtOnce = 3

// many makes a change for each index below count, and calls done with each result,
// on several goroutines. The store gets the changes in chunks. change also returns
// about the number of bytes of its change. If ctx has ended, the error says so.
func (n *Node) many(ctx context.Context, count int, change func(i int, now task.Millis) (task.Change, int, error), done func(i int, r store.Reply, err error)) error {
	var working sync.WaitGroup
	turns := make(chan bool, chunksAtOnce)
	for from := 0; from < count; {
		now, items, changes := n.now(), []int(nil), []task.Change(nil)
		for bytes := 0; from < count && len(items) < task.MaxBatch && bytes < task.MaxBatchBytes; from++ {
			c, size, err := change(from, now)
			if err != nil {
				done(from, store.Reply{}, err)
				continue
			}
			bytes += size
			items, changes = append(items, from), append(changes, c)
		}
		send := func() {
			replies, err := n.core.Store.Transit(n.asActor(ctx), now, store.Changes(changes))
			for c, i := range items {
				if err == nil {
					done(i, replies[c], replies[c].Err)
				} else {
					done(i, store.Reply{}, err)
				}
			}
			<-turns
		}
		if turns <- true; from == count { // it is the last one, and often the only one
			send()
		} else {
			working.Go(send)
		}
	}
	working.Wait()
	return translate(ofTask, "", ctx.Err())
}

// apply applies one change, or returns an *Error.
func (n *Node) apply(ctx context.Context, now task.Millis, c task.Change) (Info, error) {
	r, err := n.applied(ctx, now, c)
	if err != nil {
		return Info{}, translate(ofTask, c.Target().Name, err)
	}
	i := n.infoOf(r.Task)
	i.Durability = cmp.Or(r.Durability, n.core.Store.Standing().Durability)
	return i, nil
}

// applied applies one change, or returns the error of the store.
func (n *Node) applied(ctx context.Context, now task.Millis, c task.Change) (store.Reply, error) {
	replies, err := n.core.Store.Transit(n.asActor(ctx), now, store.Changes([]task.Change{c}))
	if err != nil {
		return store.Reply{}, err
	}
	return replies[0], replies[0].Err
}

func (n *Node) key(name string) task.Key {
	return task.Key{Namespace: n.options.Namespace, Name: name}
}

// Move implements Scheduler.
func (n *Node) Move(ctx context.Context, name string, w When) (Info, error) {
	if w.err != nil {
		return Info{}, translate(ofTask, name, w.err)
	}
	now, when := n.now(), w.task()
	notDead := []task.State{task.Scheduled, task.Running, task.Delivered, task.Cancelled, task.Expired}
	c := task.Patch{Key: n.key(name), When: &when, Only: &task.Filter{Namespace: n.options.Namespace, States: notDead}}
	if err := c.Validate(now); err != nil {
		return Info{}, translate(ofTask, name, err)
	}
	i, err := n.apply(ctx, now, c)
	if errors.Is(err, task.ErrPrecondition) {
		err = &Error{ofTask, name, ErrEnded, "the task is dead, so it cannot be moved: use Retry or Put to start it again"}
	}
	return i, err
}

// Touch implements Scheduler.
func (n *Node) Touch(ctx context.Context, name string) (Info, error) {
	return n.apply(ctx, n.now(), task.Touch{Key: n.key(name)})
}

// Cancel implements Scheduler.
func (n *Node) Cancel(ctx context.Context, name string) (Cancelled, error) {
	r, err := n.applied(ctx, n.now(), task.Cancel{Key: n.key(name)})
	return Cancelled{r.UnderWay, r.Already}, translate(ofTask, name, err)
}

// Retry implements Scheduler.
func (n *Node) Retry(ctx context.Context, name string) (Info, error) {
	c := task.Revive{Key: n.key(name), Only: &task.Filter{Namespace: n.options.Namespace, States: []task.State{task.Dead}}}
	i, err := n.apply(ctx, n.now(), c)
	if errors.Is(err, task.ErrPrecondition) {
		err = &Error{ofTask, name, ErrNotDead, "the task is not dead, so it cannot be retried: use Move if it waits, or Put if it has ended"}
	}
	return i, err
}

// Get implements Scheduler.
func (n *Node) Get(ctx context.Context, name string) (Info, error) {
	t, err := n.core.Store.Get(ctx, n.key(name))
	if err == nil && t.IsSchedule() { // its record has the name of the schedule, after an @
		err = task.ErrNotFound
	}
	if err != nil {
		return Info{}, translate(ofTask, name, err)
	}
	return n.infoOf(t), nil
}

// listPage is the number of tasks that List reads at once.
const listPage = 1000

// List implements Scheduler.
func (n *Node) List(ctx context.Context, f Filter) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		filter, err := f.task(n.options.Namespace)
		for after, more := "", err == nil; more; {
			var page task.Listing
			if page, err = n.core.Store.List(ctx, filter, filter.Narrow(task.Page{After: after, Limit: listPage})); err != nil {
				break
			}
			for _, t := range page.Tasks {
				if (f.Kind == "" || f.Kind == t.Request.Kind) && !yield(n.infoOf(t), nil) {
					return
				}
			}
			after, more = page.Next, page.Next != ""
		}
		if err != nil {
			yield(Info{}, translate(ofTask, "", err))
		}
	}
}

// task returns f for the store, which does not select by kinds.
func (f Filter) task(namespace string) (task.Filter, error) {
	out := task.Filter{Namespace: namespace, Queue: f.Queue, Prefix: f.Prefix, Labels: f.Labels, Schedule: f.Schedule, Reason: f.Reason}
	for _, s := range f.States {
		state, ok := task.ParseState(string(s))
		if !ok {
			return out, &task.FieldError{Path: "Filter.States", Detail: strconv.Quote(string(s)) + " is no state: use the State constants"}
		}
		out.States = append(out.States, state)
	}
	if !f.DueAfter.IsZero() {
		out.DueAfter = task.FloorMillis(f.DueAfter)
	}
	if !f.DueBefore.IsZero() {
		out.DueBefore = cmp.Or(task.CeilMillis(f.DueBefore), -1) // 0 is no bound, and no task is due before 0
	}
	if !f.EndedAfter.IsZero() {
		out.EndedAfter = max(task.FloorMillis(f.EndedAfter), 1)
	}
	if !f.EndedBefore.IsZero() {
		out.EndedBefore = cmp.Or(task.CeilMillis(f.EndedBefore), -1)
	}
	var err error
	if f.Prefix != "" {
		err = task.ValidateRecordName("Filter.Prefix", f.Prefix)
	}
	if f.Queue != "" {
		err = cmp.Or(err, task.ValidateName("Filter.Queue", f.Queue))
	}
	return out, err
}

// Schedule implements Scheduler.
func (n *Node) Schedule(ctx context.Context, r Rule, item Item) error {
	i := &item.item
	rule, err := r.stored()
	if err = cmp.Or(i.Err, err); err != nil {
		return translate(ofSchedule, i.Name, err)
	}
	now := n.now()
	defaults := n.core.Store.Standing().Settings.Queue(n.options.Namespace, i.Queue).Spec()
	spec := task.ScheduleSpec{Spec: i.Spec(defaults, n.options.Namespace, now), Rule: rule}
	if err := spec.Validate(now); err != nil {
		return translate(ofSchedule, i.Name, err)
	}
	put := task.PutSchedule{Spec: spec}
	old, err := n.core.Store.Get(ctx, put.Target())
	if err == nil && changesNothing(now, put, old) {
		return nil
	}
	if err == nil || errors.Is(err, task.ErrNotFound) {
		_, err = n.applied(ctx, now, put)
	}
	return translate(ofSchedule, i.Name, err)
}

// changesNothing reports whether put would leave old, which must have its body,
// unchanged. For a schedule that is due now, it may report false.
func changesNothing(now task.Millis, put task.PutSchedule, old *task.Task) bool {
	r, err := put.Apply(now, old, task.Facts{})
	if err != nil {
		return false
	}
	t := r.Task.Clone()
	t.Version = old.Version
	return reflect.DeepEqual(t, old)
}

// Unschedule implements Scheduler.
func (n *Node) Unschedule(ctx context.Context, name string) error {
	_, err := n.applied(ctx, n.now(), task.RemoveSchedule{Key: task.ScheduleKey(n.options.Namespace, name)})
	return translate(ofSchedule, name, err)
}
