package api

import (
	"context"
	"errors"
	"log/slog"

	"github.com/foliot/foliot/internal/api/decode"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// boundStore is the store that request handlers use. While a request waits for
// the store, it does not count as a running handler. Each page waits for a turn
// (see turns) before it is read, and its memory is counted.
type boundStore struct {
	Store
	changes *slog.Logger // gets a line for each change; nil: none
}

// outside runs call. If the request counts as a running handler, it does not
// count while call runs.
func outside(ctx context.Context, call func()) {
	if o := responseOf(ctx); o != nil && o.running {
		o.pause()
		defer o.resume()
	}
	call()
}

// Get implements Store. It can block until another machine replies, or until the
// disk has synced the task.
func (l *boundStore) Get(ctx context.Context, key task.Key) (t *task.Task, err error) {
	outside(ctx, func() { t, err = l.Store.Get(ctx, key) })
	if o := responseOf(ctx); err == nil && o != nil && o.reads {
		err = o.hold(t.Weight())
	}
	return t, err
}

// Transit implements Store.
func (l *boundStore) Transit(ctx context.Context, now task.Millis, steps []store.Step) (replies []store.Reply, err error) {
	outside(ctx, func() { replies, err = l.Store.Transit(ctx, now, steps) })
	if l.changes != nil {
		l.logChanges(ctx, steps, replies)
	}
	return replies, err
}

// logChanges writes a line for each of steps that changed a record.
func (l *boundStore) logChanges(ctx context.Context, steps []store.Step, replies []store.Reply) {
	who := settings.ActorOf(ctx)
	for i, r := range replies {
		if r.Err != nil || r.Effect == task.Repeated || r.Already {
			continue
		}
		kind, name := "task", r.Task.Name
		if r.Task.IsSchedule() {
			kind, name = "schedule", r.Task.ScheduleName()
		}
		l.changes.LogAttrs(ctx, slog.LevelInfo, "a client made a change",
			slog.String("action", steps[i].Transition.(task.Change).Action()), slog.String("namespace", r.Task.Namespace), slog.String(kind, name),
			slog.String("id", r.Task.ID), slog.Uint64("version", r.Task.Version), slog.String("by", who.By), slog.String("remote", who.Addr))
	}
}

// Configure implements Store.
func (l *boundStore) Configure(ctx context.Context, now task.Millis, edits []settings.Edit) (replies []settings.EditReply, err error) {
	outside(ctx, func() { replies, err = l.Store.Configure(ctx, now, edits) })
	return replies, err
}

// note adds an entry to the audit log.
func (l *boundStore) note(ctx context.Context, now task.Millis, e settings.AuditEntry) error {
	_, err := l.Configure(ctx, now, []settings.Edit{settings.Note{e}})
	return err
}

// Counts implements Store.
func (l *boundStore) Counts(ctx context.Context) (counts map[task.QueueKey]task.Counts, err error) {
	err = inTurn(ctx, func() (err error) {
		counts, err = l.Store.Counts(ctx)
		return err
	})
	return counts, err
}

// maxPage is the approximate largest size of a page from the store, in bytes.
const maxPage = task.MaxPageBytes + task.MaxBody

// List implements Store within the bounds of the memory of replies.
func (l *boundStore) List(ctx context.Context, f task.Filter, page task.Page) (listing task.Listing, err error) {
	err = inTurn(ctx, func() error {
		o := responseOf(ctx)
		if o == nil || !o.reads {
			listing, err = l.Store.List(ctx, f, page)
			return err
		}
		if err := o.hold(maxPage); err != nil {
			return err
		}
		if listing, err = l.Store.List(ctx, f, page); err != nil {
			return errors.Join(err, o.hold(0))
		}
		return o.hold(pageSize(listing.Tasks))
	})
	return listing, err
}

// Upcoming implements Store.
func (l *boundStore) Upcoming(ctx context.Context, read store.UpcomingRead) (page task.Upcoming, err error) {
	err = inTurn(ctx, func() error {
		page, err = l.Store.Upcoming(ctx, read)
		if o := responseOf(ctx); err == nil && o != nil {
			err = o.hold(pageSize(page.Tasks))
		}
		return err
	})
	return page, err
}

// Audit implements Store.
func (l *boundStore) Audit(ctx context.Context, f settings.AuditFilter, before uint64, limit int) (page settings.AuditPage, err error) {
	err = inTurn(ctx, func() error {
		page, err = l.Store.Audit(ctx, f, before, limit)
		if o := responseOf(ctx); err == nil && o != nil {
			err = o.hold(auditSize(page.Entries))
		}
		return err
	})
	return page, err
}

// inTurn runs work that takes milliseconds of processor time. It waits for a turn
// first, and the request does not count as a running handler until work has
// ended. A request that changes something waits without a limit.
func inTurn(ctx context.Context, work func() error) error {
	o := responseOf(ctx)
	if o == nil {
		return work()
	}
	return o.inTurn(ctx, &o.server.turns, !o.reads, work)
}

func (o *response) inTurn(ctx context.Context, turns *turns, patient bool, work func() error) (err error) {
	outside(ctx, func() {
		if !turns.enter(ctx, o.namespace, patient) {
			if err = ctx.Err(); err == nil {
				err = tooManyAtOnce("", "too many lists and searches of this namespace are running: retry later")
			}
			return
		}
		defer turns.leave(o.namespace)
		err = work()
	})
	return err
}

// boundCluster is the cluster that request handlers use. While a request waits
// for a reply, it does not count as a running handler.
type boundCluster struct{ store.Cluster }

// Nodes implements store.Cluster.
func (c boundCluster) Nodes(ctx context.Context) (nodes []store.Node, err error) {
	outside(ctx, func() { nodes, err = c.Cluster.Nodes(ctx) })
	return nodes, err
}

// Shards implements store.Cluster.
func (c boundCluster) Shards(ctx context.Context) (shards []store.Shard, err error) {
	outside(ctx, func() { shards, err = c.Cluster.Shards(ctx) })
	return shards, err
}

// Drain implements store.Cluster.
func (c boundCluster) Drain(ctx context.Context, now task.Millis, d store.Drain) (err error) {
	outside(ctx, func() { err = c.Cluster.Drain(ctx, now, d) })
	return err
}

// largeDocument is the size, in bytes, from which the decoding of JSON waits for
// a turn.
const largeDocument = 256 << 10

// document parses the body of r. If the body is large, it waits for a turn first.
func (r *request) document(data []byte, read func(*reader) error) error {
	if len(data) < largeDocument {
		return document(data, read)
	}
	return inTurn(r.Context(), func() error { return document(data, read) })
}

// recordSize is the approximate size of a task without its texts, decoded or
// encoded.
const recordSize = 1 << 10

// pageSize returns the approximate size of a page of tasks. It includes the
// JSON of the largest one, because tasks are encoded one by one.
func pageSize(tasks []*task.Task) (size int) {
	largest := 0
	for _, t := range tasks {
		weight := t.Weight()
		size += recordSize + weight
		largest = max(largest, weight)
	}
	return size + decode.Escaped*largest
}

func auditSize(entries []settings.AuditEntry) (size int) {
	const others = 256
	for i := range entries {
		size += others + len(entries[i].Detail) + len(entries[i].Target)
	}
	return size
}
