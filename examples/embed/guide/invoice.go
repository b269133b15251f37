package guide

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/foliot/foliot"
)

//doc:show kinds

// Invoice holds the arguments of a reminder.
type Invoice struct {
	ID string `json:"id"`
}

var sendReminder = foliot.NewKind[Invoice]("send-reminder",
	foliot.InQueue("mail"),
	foliot.AtOnce(10),                         // of the handlers of a process
	foliot.Timeout(time.Minute),               // of one attempt
	foliot.Backoff(10*time.Second, time.Hour), // between attempts: 10s, 20s, 40s, up to 1h
	foliot.MaxAge(3*24*time.Hour),             // of all attempts; then the task is dead
)

//doc:end

// billing is a program with invoices.
type billing struct {
	timers foliot.Scheduler
	read   func(ctx context.Context, id string) (invoice, error)
	mail   func(ctx context.Context, key string, to string) error
	now    func() time.Time
}

type invoice struct {
	paid, closed bool
	address      string
}

var (
	errNoInvoice = errors.New("no such invoice")
	errBusy      = errors.New("the mail server is busy")
)

//doc:show results

func (b *billing) remind(ctx context.Context, t *foliot.Task[Invoice]) error {
	i, err := b.read(ctx, t.Args.ID)
	switch {
	case errors.Is(err, errNoInvoice), err == nil && i.paid:
		return nil // nothing to do, and the task is delivered
	case err != nil:
		return err // retried after the backoff
	case i.address == "":
		return foliot.Dead(fmt.Errorf("invoice %s has no address", t.Args.ID)) // no further attempt
	case b.now().Hour() < 8: // at night
		return foliot.Snooze(time.Hour) // later, without using an attempt
	}
	err = b.mail(ctx, t.ID, i.address) // the idempotency key, for a mail server that has them
	if errors.Is(err, errBusy) {
		return foliot.RetryIn(10*time.Minute, err) // retried after exactly this time
	}
	return err
}

//doc:end

//doc:show change

func (b *billing) paid(ctx context.Context, id string) error {
	c, err := b.timers.Cancel(ctx, "remind-"+id)
	if errors.Is(err, foliot.ErrNotFound) || errors.Is(err, foliot.ErrEnded) {
		return nil // the reminder was sent, and is no longer needed
	}
	if err == nil && c.UnderWay {
		slog.Info("the reminder may be on its way", "invoice", id)
	}
	return err
}

func (b *billing) postpone(ctx context.Context, id string, until time.Time) error {
	_, err := b.timers.Move(ctx, "remind-"+id, foliot.At(until))
	return err
}

//doc:end

//doc:show schedule

var sendReport = foliot.NewKind[struct{}]("send-report")

// schedule is called at each start of the program.
func schedule(ctx context.Context, timers foliot.Scheduler) error {
	rule := foliot.Cron("0 9 * * *", "Europe/Berlin")
	rule.Overlap = foliot.SkipOverlap // skip an instant while the last report is still being sent
	return sendReport.Schedule(ctx, timers, "daily-report", rule, struct{}{})
}

//doc:end

// oldReminder is the kind of reminders that were created before version 2.
var oldReminder = foliot.NewKind[Invoice]("remind")

func (b *billing) mux() *foliot.Mux {
	mux := new(foliot.Mux)
	mux.Use(logged)
	sendReminder.Handle(mux, b.remind)
	oldReminder.Handle(mux, b.remind)
	return mux
}

func logged(next foliot.Handler) foliot.Handler {
	return func(ctx context.Context, c *foliot.Call) error {
		err := next(ctx, c)
		slog.InfoContext(ctx, "handled", "kind", c.Kind, "task", c.Name, "attempt", c.Attempt, "error", err)
		return err
	}
}

func runUntil(ctx context.Context, node *foliot.Node) error {
	err := node.Run(ctx) // blocks until ctx ends, and until the handlers have returned
	return errors.Join(err, node.Close())
}
