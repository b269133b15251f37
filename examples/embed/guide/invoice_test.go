package guide

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot/foliot"
	"github.com/foliot/foliot/dir"
	"github.com/foliot/foliot/foliottest"
)

// post is a mail server and a table of invoices.
type post struct {
	mu       sync.Mutex
	invoices map[string]invoice
	busy     int // the number of mails that it still refuses
	sent     []string
	at       []time.Time
}

func (p *post) read(_ context.Context, id string) (invoice, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i, ok := p.invoices[id]
	if !ok {
		return i, errNoInvoice
	}
	return i, nil
}

func (p *post) mail(_ context.Context, key, _ string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.busy > 0 {
		p.busy--
		return errBusy
	}
	p.sent, p.at = append(p.sent, key), append(p.at, time.Now())
	return nil
}

func (p *post) all() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.sent)
}

// billing returns the program, with a clock that was at noon when the bubble
// began.
func (p *post) billing() *billing {
	return &billing{read: p.read, mail: p.mail, now: after(12 * time.Hour)}
}

// after returns a UTC clock that is t ahead. A bubble begins at midnight.
func after(t time.Duration) func() time.Time {
	return func() time.Time { return time.Now().Add(t).UTC() }
}

//doc:show faketime

func TestTheReminderComesInTimeAndOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &post{invoices: map[string]invoice{"7": {address: "ada@example.com"}}}
		node := foliottest.Start(t, p.billing().mux())
		if _, err := sendReminder.In(t.Context(), node, "remind-7", 2*time.Hour, Invoice{ID: "7"}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2*time.Hour - time.Millisecond)
		synctest.Wait()
		if got := p.all(); got != nil {
			t.Errorf("too early: %q", got)
		}
		time.Sleep(2 * time.Millisecond)
		synctest.Wait()
		if got := p.all(); !slices.Equal(got, []string{"remind-7"}) {
			t.Errorf("sent: %q", got)
		}
	})
}

//doc:end

func TestTheReminderSurvivesARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &post{invoices: map[string]invoice{"7": {address: "ada@example.com"}}}
		store := dir.Store(t.TempDir())
		for _, process := range []string{"first", "second"} {
			node, err := foliot.Open(t.Context(), store, p.billing().mux(), foliot.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if process == "first" {
				if _, err := sendReminder.In(t.Context(), node, "remind-7", time.Hour, Invoice{ID: "7"}); err != nil {
					t.Fatal(err)
				}
			}
			ctx, stop := context.WithTimeout(t.Context(), 50*time.Minute)
			if err := runUntil(ctx, node); err != nil {
				t.Error(err)
			}
			stop()
		}
		if got := p.all(); !slices.Equal(got, []string{"remind-7"}) {
			t.Errorf("sent: %q", got)
		}
	})
}

func TestEachResultOfTheReminder(t *testing.T) {
	for name, c := range map[string]struct {
		invoice invoice
		busy    int
		clock   time.Duration // the time of the day at which the reminder is due; 0: noon
		sent    int
		after   time.Duration // between the due time and the mail
		state   foliot.State
	}{
		"sent":         {invoice: invoice{address: "a"}, sent: 1, state: foliot.StateDelivered},
		"paid":         {invoice: invoice{address: "a", paid: true}, state: foliot.StateDelivered},
		"no address":   {state: foliot.StateDead},
		"at night":     {invoice: invoice{address: "a"}, clock: 7 * time.Hour, sent: 1, after: time.Hour, state: foliot.StateDelivered},
		"busy at once": {invoice: invoice{address: "a"}, busy: 1, sent: 1, after: 10 * time.Minute, state: foliot.StateDelivered},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &post{invoices: map[string]invoice{"7": c.invoice}, busy: c.busy}
				b := p.billing()
				if c.clock != 0 {
					b.now = after(c.clock)
				}
				node := foliottest.Start(t, b.mux())
				due := time.Now()
				if _, err := sendReminder.In(t.Context(), node, "remind-7", 0, Invoice{ID: "7"}); err != nil {
					t.Fatal(err)
				}
				time.Sleep(c.after + time.Minute)
				i, err := node.Get(t.Context(), "remind-7")
				if err != nil {
					t.Fatal(err)
				}
				if i.State != c.state || len(p.all()) != c.sent {
					t.Errorf("%+v, sent %d", i, len(p.all()))
				}
				if c.sent == 1 && p.at[0].Sub(due).Round(time.Second) != c.after {
					t.Errorf("sent %v after the due time, want %v", p.at[0].Sub(due), c.after)
				}
			})
		})
	}
}

func TestAReminderIsCancelledAndPostponed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &post{invoices: map[string]invoice{"7": {address: "a"}, "8": {address: "b"}}}
		b := p.billing()
		b.timers = foliottest.Start(t, b.mux())
		for _, id := range []string{"7", "8"} {
			if _, err := sendReminder.In(t.Context(), b.timers, "remind-"+id, time.Hour, Invoice{ID: id}); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(b.paid(t.Context(), "7"), b.paid(t.Context(), "9"), b.postpone(t.Context(), "8", time.Now().Add(2*time.Hour))); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2*time.Hour - time.Second)
		if got := p.all(); got != nil {
			t.Errorf("sent: %q", got)
		}
		time.Sleep(2 * time.Second)
		if got := p.all(); !slices.Equal(got, []string{"remind-8"}) {
			t.Errorf("sent: %q", got)
		}
		if err := b.paid(t.Context(), "8"); err != nil {
			t.Error(err)
		}
	})
}

func TestTasksOfTheOldKindAreHandled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &post{invoices: map[string]invoice{"7": {address: "a"}}}
		node := foliottest.Start(t, p.billing().mux())
		if _, err := oldReminder.In(t.Context(), node, "remind-7", 0, Invoice{ID: "7"}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if len(p.all()) != 1 {
			t.Error("it was not handled")
		}
	})
}

func TestTheReportComesInTheMorning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var at []time.Time
		mux := new(foliot.Mux)
		sendReport.Handle(mux, func(_ context.Context, t *foliot.Task[struct{}]) error {
			at = append(at, t.Due)
			return nil
		})
		node := foliottest.Start(t, mux)
		for range 2 { // two starts of a program
			if err := schedule(t.Context(), node); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(9 * time.Hour)
		synctest.Wait()
		if len(at) != 1 || at[0].UTC().Hour() != 8 {
			t.Errorf("%v", at)
		}
	})
}

// A handler that calls Put for its own task runs again, that long after its end.
func TestAHandlerRepeatsItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		poll := foliot.NewKind[int]("poll")
		var at []time.Time
		var node *foliot.Node
		mux := new(foliot.Mux)
		poll.Handle(mux, func(ctx context.Context, t *foliot.Task[int]) error {
			at = append(at, time.Now())
			_, err := poll.Put(ctx, node, t.Name, foliot.In(time.Minute), t.Args+1)
			return err
		})
		node = foliottest.Start(t, mux)
		if _, err := poll.In(t.Context(), node, "poll-7", time.Minute, 1); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10*time.Minute + 30*time.Second)
		synctest.Wait()
		if len(at) != 10 {
			t.Errorf("it ran %d times: %v", len(at), at)
		}
	})
}
