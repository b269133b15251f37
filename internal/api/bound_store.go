package api

import (
	"context"
	"log/slog"
	"time"

	"github.com/foliot/foliot/internal/api/admission"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// boundStore is the store that request handlers use, in which reads that take
// milliseconds of a processor wait for a turn.
type boundStore struct {
	Store
	gate    *admission.Gate
	changes *slog.Logger // gets a line for each change; nil: none

	// patience is the longest wait for a change, 0 for no limit: the commits of a shared
	// store can wait for hours for another server, but a reply must be written.
	patience time.Duration
}

// sharedPatience is shorter than the time in which the server must write a reply.
const sharedPatience = 50 * time.Second

func (l *boundStore) patient(ctx context.Context) (context.Context, context.CancelFunc) {
	if l.patience == 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, l.patience)
}

func (l *boundStore) Configure(ctx context.Context, now task.Millis, edits []settings.Edit) ([]settings.EditReply, error) {
	ctx, stop := l.patient(ctx)
	defer stop()
	return l.Store.Configure(ctx, now, edits)
}

func (l *boundStore) Transit(ctx context.Context, now task.Millis, steps []store.Step) (replies []store.Reply, err error) {
	ctx, stop := l.patient(ctx)
	defer stop()
	replies, err = l.Store.Transit(ctx, now, steps)
	if l.changes != nil {
		l.logChanges(ctx, steps, replies)
	}
	return replies, err
}

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

func (l *boundStore) note(ctx context.Context, now task.Millis, entries ...settings.AuditEntry) error {
	if len(entries) == 0 {
		return nil
	}
	_, err := l.Configure(ctx, now, []settings.Edit{settings.Note(entries)})
	return err
}

// turn returns what read returns, after it has waited for a turn.
func turn[T any](ctx context.Context, gate *admission.Gate, read func() (T, error)) (v T, err error) {
	err = gate.Turn(ctx, func() (err error) {
		v, err = read()
		return err
	})
	return v, err
}

func (l *boundStore) Counts(ctx context.Context) (map[task.QueueKey]task.Counts, error) {
	return turn(ctx, l.gate, func() (map[task.QueueKey]task.Counts, error) { return l.Store.Counts(ctx) })
}

func (l *boundStore) List(ctx context.Context, f task.Filter, page task.Page) (task.Listing, error) {
	return turn(ctx, l.gate, func() (task.Listing, error) { return l.Store.List(ctx, f, page) })
}

func (l *boundStore) Upcoming(ctx context.Context, read store.UpcomingRead) (task.Upcoming, error) {
	return turn(ctx, l.gate, func() (task.Upcoming, error) { return l.Store.Upcoming(ctx, read) })
}

func (l *boundStore) Audit(ctx context.Context, f settings.AuditFilter, before uint64, limit int) (settings.AuditPage, error) {
	return turn(ctx, l.gate, func() (settings.AuditPage, error) { return l.Store.Audit(ctx, f, before, limit) })
}

// largeDocument is the size, in bytes, from which the decoding of JSON waits for
// a turn.
const largeDocument = 256 << 10

// document parses the body of r, after it has waited for a turn if the body is
// large.
func (r *request) document(data []byte, read func(*reader) error) error {
	if len(data) < largeDocument {
		return document(data, read)
	}
	return r.out.server.gate.Turn(r.Context(), func() error { return document(data, read) })
}
